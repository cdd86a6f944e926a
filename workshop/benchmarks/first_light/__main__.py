"""`make gpu-first-light`: every step in a process of its own, then one page of all results.

`python -m workshop.benchmarks.first_light --rehearse` does the same on a CPU, in a small way.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer

from orchestrator.errors import PlateError
from orchestrator.serving.supervisor.gpu import DEVICES
from workshop.benchmarks.first_light.decoding_step import compare_decoding
from workshop.benchmarks.first_light.server_steps import (
    break_workers,
    check_tensors,
    compare_answers,
    measure_settings,
)
from workshop.benchmarks.first_light.steps import QUICK, REHEARSAL, WHOLE, Row, Scope, StepResult
from workshop.reporting.files import explain_write_errors, prepare_folder, read_report, write_report
from workshop.reporting.machine import describe_machine
from workshop.reporting.tables import format_markdown

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


SETTINGS = "settings"
"""The beginning of the names of the steps that measure a server in one way each."""


def write_page(results: Mapping[str, StepResult], failed_steps: Sequence[str], out: Path) -> bool:
    """Write the page, and return whether every step was done and found nothing wrong."""
    wrong = [f"{name}: {fault}" for name, step in results.items() for fault in step.wrong]
    wrong += [f"{name}: the step failed" for name in failed_steps]
    text = "\n\n".join(_write(results, wrong)) + "\n"
    with explain_write_errors(out):
        (out / "page.md").write_text(text, encoding="utf-8")
    typer.echo(text)
    return not wrong


def _write(results: Mapping[str, StepResult], wrong: Sequence[str]) -> Iterator[str]:
    yield "# First light of a GPU"
    yield "\n".join(f"- {fault}" for fault in wrong) or "Nothing is wrong."
    for step in results.values():
        yield f"## {step.title}"
        yield format_markdown(step.header, step.rows)


Step = Callable[[Scope], StepResult]


def list_steps(scope: Scope) -> Mapping[str, Step]:
    """Return the steps of a run, the most telling ones first.

    Each way to run a server is a step of its own.
    """
    return {
        "machine": look_at_machine,
        "tensors": check_tensors,
        **{f"{SETTINGS}-{way}": partial(measure_settings, way) for way in scope.ways},
        "faults": break_workers,
        "answers": compare_answers,
        "decoding": compare_decoding,
    }


MAX_DURATION_S = 590
"""The time limit of a step in seconds; a machine is often lent for ten minutes at a time."""
OUT = Path("reports/gpu-first-light")


def main(
    step: Annotated[str, typer.Option(help="Run this step alone, in this process.")] = "",
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = OUT,
    *,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Small, on a CPU.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="In some eight minutes.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Repeat the steps done before.")] = False,
) -> None:
    """Look at a GPU from all sides; go on where an earlier run ended."""
    scope = REHEARSAL if rehearse else QUICK if quick else WHOLE
    size = ["--rehearse"] if rehearse else ["--quick"] if quick else []
    steps = list_steps(scope)
    try:
        prepare_folder(out)
        if step:
            if rehearse:
                torch.set_num_threads(1)  # several would wait for cores that other tests use
            write_report(steps[step](scope), out / f"{step}.json")
            return
        done_steps = [name for name in steps if _run_step(name, out, size, again=again)]
        failed_steps = [name for name in steps if name not in done_steps]
        results = {name: read_report(StepResult, out / f"{name}.json") for name in done_steps}
        is_right = write_page(results, failed_steps, out)
    except PlateError as error:
        typer.echo(f"first light: {error}", err=True)
        raise typer.Exit(2) from error
    raise typer.Exit(0 if is_right else 1)


def _run_step(name: str, out: Path, size: Sequence[str], *, again: bool) -> bool:
    """Run a step in a process of its own, unless it was done; return whether its file is there."""
    file = out / f"{name}.json"
    if again:
        file.unlink(missing_ok=True)
    if file.exists():
        return True
    typer.echo(f"{name} ...", err=True)
    line = [sys.executable, "-m", __package__, f"--step={name}", f"--out={out}", *size]
    try:
        process = subprocess.run(line, timeout=MAX_DURATION_S, check=False)
    except subprocess.TimeoutExpired:
        typer.echo(f"{name}: took more than {MAX_DURATION_S} s", err=True)
        return False
    if process.returncode:
        typer.echo(f"{name}: ended with exit status {process.returncode}", err=True)
    return file.exists()


if __name__ == "__main__":
    typer.run(main)
