"""Bytes that are written to /dev/shm for one call: what each model takes and gives, counted.

A worker's inputs are written there by Triton, its outputs by itself: each crosses once. What a BLS
model sends to another model, and gets back, crosses twice: through its own region and through that
of the model that works on it. What crosses to an ensemble's step is copied once more on its way
out, by Triton or by the worker.

Source: Triton Inference Server, `python_backend` of 24.10: `SaveRequestsToSharedMemory`,
`PbTensor::SaveToSharedMemory`, and `ResponseAlloc` of the request executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.compositions.workloads import Form
from orchestrator.client.transport import Call, connect
from orchestrator.contract import Array

PATIENCE_S = 60.0
Tensors = Mapping[str, Array]
Ask = Callable[[str, Tensors, Sequence[str]], Tensors]
"""Calls a model with inputs for some of its outputs."""


@dataclass(frozen=True)
class Traffic:
    """Bytes of the tensors of one call to a model."""

    taken: int
    given: int


def walk(graph: Any, inputs: Tensors, ask: Ask) -> dict[str, Traffic]:
    """Run an ensemble step by step, with its tensors in our hands.

    Args:
        graph: Its configuration; no step needs one that is written below it.
        inputs: Of one real call.
        ask: Calls a step's model.

    Returns:
        What each step's model took and gave.
    """
    tensors, found = dict(inputs), {}
    for step in graph.ensemble_scheduling.step:
        taken = {name: tensors[tensor] for name, tensor in step.input_map.items()}
        given = ask(step.model_name, taken, list(step.output_map))
        found[step.model_name] = Traffic(count(taken.values()), count(given.values()))
        tensors |= {tensor: given[name] for name, tensor in step.output_map.items()}
    return found


def count(arrays: Iterable[Array]) -> int:
    """Return how many bytes tensors have; a string has four for its length."""
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
        calls: To each of its workers' models, for each call of the form.
        traffic: Of each of these models.
    """
    times = dict.fromkeys(form.python, 1) | dict.fromkeys(form.networks, 1 + form.is_calling)
    return sum(
        calls[model] * times[model] * (traffic[model].taken + traffic[model].given)
        for model in form.workers
        if calls[model]
    )


def ask_over_http(url: str) -> Ask:
    """Return what calls the models of a server."""

    def ask(model: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        with closing(connect(url)) as transport:
            return transport.infer(Call(inputs, outputs, model), PATIENCE_S)

    return ask
