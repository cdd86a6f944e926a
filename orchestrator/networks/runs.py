"""Runs networks in this process: each as a function of arrays, and all as one `Infer`.

PyTorch is imported only for TorchScript. Triton's workers with OpenVINO do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.arrays import Array, namespace, to_numpy
from orchestrator.formats.plate_formats import Formats
from orchestrator.networks.registry import NETWORKS

Run = Callable[..., tuple[Array, ...]]
"""Runs a network on arrays of NumPy or PyTorch, and answers with arrays of the same library."""


@dataclass(frozen=True)
class Networks:
    """Networks in this process: an `Infer` that has the plate formats of its weights.

    Attributes:
        runs: Each network's function, by name.
        formats: The plate formats.
    """

    runs: Mapping[str, Run]
    formats: Formats

    def __call__(self, name: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return dict(zip(NETWORKS[name].outputs, self.runs[name](*tensors.values()), strict=True))


def run_openvino(network: Any, threads: int, is_busy: Callable[[], bool] = lambda: False) -> Run:
    """Compile a network, an `openvino.Model` or the .xml file of one; see `Compiled`."""
    from orchestrator.networks.openvino_ir import Compiled

    compiled = Compiled(network, threads=threads, is_busy=is_busy)

    def run(*tensors: Array) -> tuple[Array, ...]:
        answers = compiled(*(np.ascontiguousarray(to_numpy(tensor)) for tensor in tensors))
        is_numpy = isinstance(tensors[0], np.ndarray)
        return answers if is_numpy else tuple(map(namespace(tensors[0]).from_numpy, answers))

    return run


def run_torchscript(module: Any, device: Any = "cpu") -> Run:
    """Return the function of a `torch.jit.ScriptModule`, which is on this device."""
    import torch

    @torch.inference_mode()
    def run(*tensors: Array) -> tuple[Array, ...]:
        answer = module(*(torch.as_tensor(tensor, device=device) for tensor in tensors))
        answers = answer if isinstance(answer, tuple) else (answer,)
        return tuple(map(to_numpy, answers)) if isinstance(tensors[0], np.ndarray) else answers

    return run
