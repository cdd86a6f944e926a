"""The engines that run the networks: TorchScript, or OpenVINO with floats or 8-bit integers."""

from __future__ import annotations

import logging
from enum import Enum
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
VNNI = {"avx512_vnni", "avx_vnni"}
"""CPU flags of x86's 8-bit dot products; without them INT8 overflows and is hardly faster."""
BFLOAT16 = {"avx512_bf16", "amx_bf16"}
"""CPU flags of x86's dot products in bfloat16; without them it is slower than float32."""

logger = logging.getLogger(__name__)


class Engine(str, Enum):
    """An engine that runs the networks.

    Attributes:
        AUTO: TorchScript on a GPU; on a CPU the fastest engine that keeps the accuracy.
        TORCHSCRIPT: For GPUs and CPUs; Triton's own PyTorch backend uses it.
        OPENVINO: For CPUs, in float32.
        OPENVINO_INT8: For CPUs. Detector and reader run in 8-bit integers and STN in float32. What
            stays in floats of the reader runs in bfloat16 if the CPU multiplies that.
    """

    AUTO = "auto"
    TORCHSCRIPT = "torchscript"
    OPENVINO = "openvino"
    OPENVINO_INT8 = "openvino-int8"

    @property
    def is_openvino(self) -> bool:
        return self in {Engine.OPENVINO, Engine.OPENVINO_INT8}

    @property
    def backend(self) -> str:
        """The name of the Triton backend for this engine."""
        return "openvino" if self.is_openvino else "pytorch"


def choose(engine: Engine, *, on_gpu: bool) -> Engine:
    """Return the engine itself, or for `auto` the one that fits the machine."""
    if engine is not Engine.AUTO:
        return engine
    if on_gpu:
        return Engine.TORCHSCRIPT
    return Engine.OPENVINO_INT8 if has_int8() else Engine.OPENVINO


def has_int8() -> bool:
    """Tell whether this CPU multiplies 8-bit integers at full precision."""
    return not VNNI.isdisjoint(_read_flags())


def has_bfloat16() -> bool:
    """Tell whether this CPU multiplies bfloat16."""
    return not BFLOAT16.isdisjoint(_read_flags())


def _read_flags() -> list[str]:
    """Return the flags of the CPU."""
    try:
        lines = CPU_INFO.read_text().splitlines()
    except OSError:
        return []
    return next((line for line in lines if line.startswith("flags")), "").split()
