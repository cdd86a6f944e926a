"""The engines that run the networks: TorchScript, or OpenVINO with floats or 8-bit integers."""

from __future__ import annotations

import importlib.util
import logging
import platform
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
X86 = {"x86_64", "AMD64"}
"""The names of the architecture on which 8-bit networks were measured, and whose flags are read."""
VNNI = {"avx512_vnni", "avx_vnni"}
"""CPU flags of x86's 8-bit dot products; without them INT8 overflows and is hardly faster."""
BFLOAT16 = {"avx512_bf16", "amx_bf16"}
"""CPU flags of x86's dot products in bfloat16; without them it is slower than float32."""
INSTRUCTION_FLAGS = {
    "AVX2": {"avx2"},
    "AVX-512": {"avx512f"},
    "VNNI": VNNI,
    "bfloat16": BFLOAT16,
    "AMX": {"amx_tile"},
}
"""The instructions that make networks fast, and the CPU flags that tell of each; one is enough."""

logger = logging.getLogger(__name__)


class Engine(str, Enum):
    """An engine that runs the networks.

    Attributes:
        AUTO: TorchScript on a GPU; on a CPU the fastest engine that keeps the accuracy.
        TORCHSCRIPT: For GPUs and CPUs, in float32.
        TORCHSCRIPT_FP16: For GPUs. The detector runs in float16, the other networks in float32.
        OPENVINO: For CPUs, in float32.
        OPENVINO_INT8: For CPUs. Detector and reader run in 8-bit integers and STN in float32. The
            floats that remain in the reader run in bfloat16 if the CPU multiplies that.
    """

    AUTO = "auto"
    TORCHSCRIPT = "torchscript"
    TORCHSCRIPT_FP16 = "torchscript-fp16"
    OPENVINO = "openvino"
    OPENVINO_INT8 = "openvino-int8"

    @property
    def is_openvino(self) -> bool:
        return self in {Engine.OPENVINO, Engine.OPENVINO_INT8}

    @property
    def backend(self) -> str:
        """The name of the Triton backend for this engine."""
        return "openvino" if self.is_openvino else "pytorch"


@dataclass(frozen=True)
class Choice:
    """An engine, not `auto`, and the reason why it was chosen."""

    engine: Engine
    reason: str


def choose(engine: Engine, *, on_gpu: bool) -> Engine:
    """Return the engine itself, or for `auto` the one that fits the machine."""
    return explain(engine, on_gpu=on_gpu).engine


def explain(engine: Engine, *, on_gpu: bool) -> Choice:
    """Return the engine that `choose` returns, with the reason."""
    if engine is not Engine.AUTO:
        return Choice(engine, "it was asked for")
    if on_gpu:
        return Choice(Engine.TORCHSCRIPT_FP16, "there is a GPU")
    if importlib.util.find_spec("openvino") is None:
        return Choice(Engine.TORCHSCRIPT, "OpenVINO is not installed")
    if not is_x86():
        reason = f"8-bit integers are for x86-64, and this is {platform.machine()}"
        return Choice(Engine.OPENVINO, reason)
    flags = sorted(VNNI.intersection(read_flags()))
    if flags:
        return Choice(Engine.OPENVINO_INT8, f"the CPU has {flags[0]}: fast 8-bit integers")
    return Choice(Engine.OPENVINO, f"the CPU has neither {' nor '.join(sorted(VNNI))}")


def is_x86() -> bool:
    """Tell whether the processor is an x86."""
    return platform.machine() in X86


def has_bfloat16() -> bool:
    """Tell whether this CPU multiplies bfloat16."""
    return not BFLOAT16.isdisjoint(read_flags())


def read_flags() -> list[str]:
    """Return the flags of an x86 CPU; none on another one.

    On an emulated ARM machine, Linux lists the flags of the x86 CPU below it.
    """
    if not is_x86():
        return []
    try:
        lines = CPU_INFO.read_text().splitlines()
    except OSError:
        return []
    return next((line for line in lines if line.startswith("flags")), "").split()
