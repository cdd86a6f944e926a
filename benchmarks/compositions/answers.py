"""Do all compositions answer alike? Compared before they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import tritonclient.http

from benchmarks.compositions import BLS, MODELS, OUTPUTS
from benchmarks.pictures import Picture
from benchmarks.plan import HTTP_ENCODED
from benchmarks.wire import http_input
from orchestrator.contract import Array
from orchestrator.errors import ModelError


def check(pictures: Iterable[Picture], targets: Iterable[str], http_url: str) -> None:
    """See that each target answers every picture as the BLS model does.

    Raises:
        ModelError: One of them does not.
    """
    for picture in pictures:
        wanted = ask(BLS, picture, http_url)
        for target in targets:
            if difference := differ(wanted, ask(target, picture, http_url)):
                raise ModelError(f"{target}, {picture.name}: {difference}")


def ask(target: str, picture: Picture, http_url: str) -> Mapping[str, Array]:
    """Call a target once and return its outputs.

    Raises:
        tritonclient.utils.InferenceServerException: It answered with an error.
    """
    outputs = [tritonclient.http.InferRequestedOutput(name) for name in OUTPUTS]
    with tritonclient.http.InferenceServerClient(http_url) as client:
        tensor = http_input(HTTP_ENCODED, picture)
        result = client.infer(MODELS[target], [tensor], outputs=outputs)
    return {name: result.as_numpy(name) for name in OUTPUTS}


def differ(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> str:
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
