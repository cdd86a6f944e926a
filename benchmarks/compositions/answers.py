"""Do all forms of a workload answer alike? Compared before they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from benchmarks.compositions.traffic import Ask, Tensors
from benchmarks.compositions.workloads import Form, Workload
from benchmarks.pictures import Picture
from orchestrator.contract import ENCODED, Array
from orchestrator.errors import ModelError


def inputs_of(picture: Picture) -> Tensors:
    """Return a picture's file as every form takes it."""
    return {ENCODED: np.array([picture.encoded], np.object_)}


def check(workload: Workload, pictures: Iterable[Picture], ask: Ask) -> None:
    """See that each form answers every picture as the first one does.

    Raises:
        ModelError: One of them does not.
    """
    first, *others = workload.forms
    for picture in pictures:
        wanted = _answer(first, workload, picture, ask)
        for form in others:
            if difference := differ(wanted, _answer(form, workload, picture, ask)):
                raise ModelError(f"{form.name}, {picture.name}: {difference}")


def _answer(form: Form, workload: Workload, picture: Picture, ask: Ask) -> Tensors:
    return ask(form.model, inputs_of(picture), workload.outputs)


def differ(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> str:
    """Say in which output two answers differ; empty when they are the same.

    Texts and the number of rows must be equal, boxes and scores up to rounding.
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
