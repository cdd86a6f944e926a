"""The devices that a worker's pipeline computes on: a CPU with NumPy, or a GPU with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from orchestrator.arrays import Array
from orchestrator.imaging.files import Bgr
from orchestrator.triton.bls import to_numpy, to_torch


class Device(Protocol):
    """A device, and the library of its arrays."""

    def read(self, tensor: Any) -> Array:
        """Return a Triton tensor's memory as an array on this device."""

    def place(self, picture: Bgr) -> Array:
        """Return a decoded picture as an array on this device."""

    def inference(self) -> AbstractContextManager[Any]:
        """Return the context in which the library computes fastest."""


class Cpu:
    """The CPU. It needs no PyTorch, which would cost each worker 130 MB."""

    def read(self, tensor: Any) -> Array:
        return to_numpy(tensor)

    def place(self, picture: Bgr) -> Array:
        return picture

    def inference(self) -> AbstractContextManager[Any]:
        return nullcontext()


class Gpu:
    """A GPU.

    Args:
        number: Its number among the GPUs that the server uses.
    """

    def __init__(self, number: str) -> None:
        import torch

        self._torch, self._device = torch, torch.device(f"cuda:{number}")
        torch.set_num_threads(1)  # the networks use the cores
        torch.set_flush_denormal(True)

    def read(self, tensor: Any) -> Array:
        return to_torch(tensor).to(self._device)

    def place(self, picture: Bgr) -> Array:
        return self._torch.from_numpy(picture).to(self._device)

    def inference(self) -> AbstractContextManager[Any]:
        return self._torch.inference_mode()


def choose_device(args: Mapping[str, str]) -> Device:
    """Return the device of a worker, from the arguments that Triton passes to `initialize`."""
    is_gpu = args["model_instance_kind"] == "GPU"
    return Gpu(args["model_instance_device_id"]) if is_gpu else Cpu()
