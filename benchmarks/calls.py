"""Calls to one of the forms, and what their answers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import numpy as np
import tritonclient.http

from benchmarks import OUTPUTS
from benchmarks.pictures import Picture
from benchmarks.plan import HTTP_ENCODED, Address
from benchmarks.rivals import MODELS
from benchmarks.wire import http_input, over_http
from orchestrator.contract import Array


def connected(
    form: str, picture: Picture, address: str
) -> AbstractContextManager[Callable[[], int]]:
    """Open a connection of one caller; gives what makes one call and returns how many plates."""
    return over_http(HTTP_ENCODED, picture, Address(address), model=MODELS[form], outputs=OUTPUTS)


def answer(form: str, picture: Picture, address: str) -> Mapping[str, Array]:
    """Call a form once and return its outputs.

    Raises:
        tritonclient.utils.InferenceServerException: The form answered with an error.
    """
    outputs = [tritonclient.http.InferRequestedOutput(name) for name in OUTPUTS]
    with tritonclient.http.InferenceServerClient(address) as client:
        tensor = http_input(HTTP_ENCODED, picture)
        result = client.infer(MODELS[form], [tensor], outputs=outputs)
    return {name: result.as_numpy(name) for name in OUTPUTS}


def difference(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> str:
    """Say in which output two answers differ; empty when they are the same.

    Texts and the number of plates must be equal, boxes and scores up to rounding.
    """
    for name in OUTPUTS:
        if wanted[name].shape != got[name].shape:
            return f"{name}: wanted the shape {wanted[name].shape}, got {got[name].shape}"
        if wanted[name].dtype == np.object_:
            same = bool((wanted[name] == got[name]).all())
        else:
            same = np.allclose(wanted[name], got[name], rtol=1e-4, atol=1e-3)
        if not same:
            return f"{name}: wanted {wanted[name].tolist()}, got {got[name].tolist()}"
    return ""
