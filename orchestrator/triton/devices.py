"""The devices that a worker's pipeline computes on: a CPU with NumPy, or a GPU with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from orchestrator.arrays import Array
from orchestrator.errors import ExtraError
from orchestrator.imaging.decoding import unpack_bgr
from orchestrator.imaging.gpu_decoding import JpegDecoder
from orchestrator.imaging.headers import Header
from orchestrator.triton.bls import to_numpy, to_torch


class WorkerDevice(Protocol):
    """A device, and the library of its arrays."""

    def read(self, tensor: Any) -> Array:
        """Return a Triton tensor's memory as an array on this device."""

    def decode(self, file: bytes, header: Header) -> Array:
        """Return the pixels of a file with a checked header as an array on this device."""

    def inference(self) -> AbstractContextManager[Any]:
        """Return the context in which the library computes fastest."""


class Cpu:
    """The CPU. It needs no PyTorch, which would cost each worker 130 MB."""

    read = staticmethod(to_numpy)
    decode = staticmethod(unpack_bgr)
    inference = staticmethod(nullcontext)


class Gpu:
    """A GPU.

    Args:
        number: Its number among the GPUs that the server uses.
        decoder: Decodes JPEG files there; None decodes all files on the CPU.
    """

    def __init__(self, number: str, decoder: JpegDecoder | None = None) -> None:
        import torch

        self._torch, self._device = torch, torch.device(f"cuda:{number}")
        self._decoder = decoder
        torch.set_num_threads(1)  # the networks use the cores
        torch.set_flush_denormal(True)

    def read(self, tensor: Any) -> Array:
        return to_torch(tensor).to(self._device)

    def decode(self, file: bytes, header: Header) -> Array:
        if self._decoder and (there := self._decoder.decode(file, header)) is not None:
            return to_torch(there)
        return self._torch.from_numpy(unpack_bgr(file, header)).to(self._device)

    def inference(self) -> AbstractContextManager[Any]:
        return self._torch.inference_mode()


def choose_device(args: Mapping[str, str]) -> WorkerDevice:
    """Return the device of a worker, from the arguments that Triton passes to `initialize`."""
    if args["model_instance_kind"] != "GPU":
        return Cpu()
    number = args["model_instance_device_id"]
    try:
        return Gpu(number, JpegDecoder(int(number)))
    except ExtraError:  # nvImageCodec is an extra
        return Gpu(number)
