"""Counts the bytes written to /dev/shm for one call: the inputs and outputs of each model.

Triton writes a worker's inputs there, and the worker writes its outputs: each crosses once. The
tensors between a BLS model and another model cross twice: through its own region and through that
of the other model. Tensors of an ensemble's step are copied once more on the way out, by Triton or
by the worker.

Source: Triton Inference Server, `python_backend` of 24.10: `SaveRequestsToSharedMemory`,
`PbTensor::SaveToSharedMemory`, and `ResponseAlloc` of the request executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.client.connecting import connect
from orchestrator.client.inference import InferenceRequest
from orchestrator.contract import Array
from orchestrator.system.blocking import run_blocking
from workshop.benchmarks.compositions.workloads import Form

PATIENCE_S = 60.0
Tensors = Mapping[str, Array]
Ask = Callable[[str, Tensors, Sequence[str]], Tensors]
"""Calls a model with inputs, and returns the requested outputs."""


@dataclass(frozen=True)
class Traffic:
    """The bytes of the tensors of one call to a model: its inputs and its outputs."""

    taken: int
    given: int


def walk(graph: Any, inputs: Tensors, ask: Ask) -> dict[str, Traffic]:
    """Run an ensemble step by step from the client, to see all its tensors.

    Args:
        graph: The ensemble's configuration; each step needs only steps above it.
        inputs: The inputs of one real call.
        ask: Calls the model of a step.

    Returns:
        The bytes of the inputs and outputs of each step's model.
    """
    tensors, found = dict(inputs), {}
    for step in graph.ensemble_scheduling.step:
        taken = {name: tensors[tensor] for name, tensor in step.input_map.items()}
        given = ask(step.model_name, taken, list(step.output_map))
        found[step.model_name] = Traffic(count(taken.values()), count(given.values()))
        tensors |= {tensor: given[name] for name, tensor in step.output_map.items()}
    return found


def count(arrays: Iterable[Array]) -> int:
    """Return the size of tensors in bytes; each string takes 4 more bytes for its length."""
    return sum(_count(array) for array in arrays)


def _count(array: Array) -> int:
    if array.dtype == np.object_:
        return sum(4 + len(text) for text in array.ravel())
    return int(array.nbytes)


def count_shm_bytes(
    form: Form, calls: Mapping[str, float], traffic: Mapping[str, Traffic]
) -> float:
    """Return the bytes that one call of a form writes to /dev/shm.

    Args:
        form: The form.
        calls: The number of calls to each of its models, per call of the form.
        traffic: The bytes per call of each of these models.
    """
    times = dict.fromkeys(form.python, 1) | dict.fromkeys(form.networks, 1 + form.is_calling)
    return sum(
        calls[model] * times[model] * (traffic[model].taken + traffic[model].given)
        for model in form.workers
        if calls[model]
    )


def ask_over_http(url: str) -> Ask:
    """Return a function that calls the models of a server."""

    def ask(model: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        channel = connect(url)
        try:
            request = InferenceRequest(inputs, outputs, model)
            return run_blocking(channel.infer(request, PATIENCE_S))
        finally:
            run_blocking(channel.close())

    return ask
