"""What runs the networks: TorchScript, or OpenVINO with floats or with 8-bit integers."""

from __future__ import annotations

import logging
from enum import Enum
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
VNNI = {"avx512_vnni", "avx_vnni"}
"""CPU flags of x86's 8-bit dot products; without them INT8 overflows and is hardly faster."""

logger = logging.getLogger(__name__)


class Engine(str, Enum):
    """What runs the networks.

    Attributes:
        AUTO: TorchScript on a GPU; on a CPU the fastest that keeps the accuracy.
        TORCHSCRIPT: On GPUs and CPUs; what Triton's own PyTorch backend takes.
        OPENVINO: On CPUs, in float32.
        OPENVINO_INT8: On CPUs, the detector in 8-bit integers, the rest in float32.
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
        """The Triton backend that serves it."""
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
    try:
        lines = CPU_INFO.read_text().splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return not VNNI.isdisjoint(flags.split())
