"""The step `machine`: the GPU, its driver, and the time of a first context."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

import torch

from orchestrator.serving.supervisor.gpu import DEVICES
from workshop.benchmarks.first_light.steps import Row, Scope, StepResult
from workshop.reporting.machine import describe_machine

LIBRARY = "libcuda.so"
DRIVER = Path("/proc/driver/nvidia/version")


def look_at_machine(scope: Scope) -> StepResult:
    """Describe the machine, and measure the first use of its device."""
    began = time.perf_counter()
    torch.zeros(1, device=scope.torch_device).add_(1).cpu()
    first_s = time.perf_counter() - began
    machine = describe_machine()
    facts: list[Row] = [
        ("CPU", f"{machine.cpu}, {machine.cores} cores"),
        ("memory", f"{machine.memory_bytes / 2**30:.0f} GiB"),
        ("devices", ", ".join(sorted(device.name for device in DEVICES.glob("nvidia*"))) or "none"),
        ("driver", DRIVER.read_text().splitlines()[0] if DRIVER.exists() else "none"),
        (LIBRARY, _open_library()),
        ("PyTorch", f"{torch.__version__}, CUDA {torch.version.cuda or 'none'}"),
        ("CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES", "not set")),
        ("first use", f"{first_s:.2f} s"),
    ]
    wrong = []
    if scope.device == "gpu":
        facts += _describe_gpu()
        if _open_library() != "opens":
            wrong.append(f"{LIBRARY}: wanted a library that opens, because Triton opens it")
    return StepResult(
        "The machine", ("what", "value"), tuple(facts), tuple(wrong), {"first use, s": first_s}
    )


def _open_library() -> str:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        return str(error)
    return "opens"


def _describe_gpu() -> list[Row]:
    gpu = torch.cuda.get_device_properties(0)
    return [
        ("GPU", f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB"),
        ("compute capability", f"{gpu.major}.{gpu.minor}"),
        ("multiprocessors", str(gpu.multi_processor_count)),
        ("GPUs", str(torch.cuda.device_count())),
    ]
