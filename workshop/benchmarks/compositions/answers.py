"""Checks, before the measurement, that all forms of a workload give the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from orchestrator.client.connecting import connect
from orchestrator.client.inference import InferenceRequest
from orchestrator.contract import ENCODED, Array
from orchestrator.errors import ModelError
from orchestrator.host.blocking import run_blocking
from workshop.benchmarks.compositions.workloads import Form, Workload
from workshop.benchmarks.pictures import Picture

TIMEOUT_S = 60.0
Tensors = Mapping[str, Array]
Infer = Callable[[str, Tensors, Sequence[str]], Tensors]
"""Calls a model with inputs, and returns the requested outputs."""


def open_infer(url: str) -> Infer:
    """Return a function that calls the models of a server."""

    def infer(model: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        channel = connect(url)
        try:
            return run_blocking(channel.infer(InferenceRequest(inputs, outputs, model), TIMEOUT_S))
        finally:
            run_blocking(channel.close())

    return infer


def inputs_of(picture: Picture) -> Tensors:
    """Return the inputs of every form for one picture: its file."""
    return {ENCODED: np.array([picture.encoded], np.object_)}


def check(workload: Workload, pictures: Iterable[Picture], infer: Infer) -> None:
    """Check that each form gives the same answer as the first form, for every picture."""
    first, *others = workload.forms
    for picture in pictures:
        wanted = _answer(first, workload, picture, infer)
        for form in others:
            if difference := differ(wanted, _answer(form, workload, picture, infer)):
                raise ModelError(f"{form.name}, {picture.name}: {difference}")


def _answer(form: Form, workload: Workload, picture: Picture, infer: Infer) -> Tensors:
    return infer(form.model, inputs_of(picture), workload.outputs)


def differ(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> str:
    """Describe the first output in which two answers differ; empty when they are the same.

    Texts and the number of rows must be equal, boxes and scores equal up to rounding.
    """
    for name in wanted:
        if wanted[name].shape != got[name].shape:
            return f"{name}: wanted the shape {wanted[name].shape}, got {got[name].shape}"
        if wanted[name].dtype == np.object_:
            same = bool((wanted[name] == got[name]).all())
        else:
            same = np.allclose(wanted[name], got[name], rtol=1e-4, atol=1e-3)
        if not same:
            return f"{name}: wanted {wanted[name].tolist()}, got {got[name].tolist()}"
    return ""
