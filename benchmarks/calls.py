"""Calls to one of the forms that cost the client little, and what their answers say.

As `orchestrator.bench.wire`, for any model: a request is built once and sent again and again.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import tritonclient.http

from benchmarks import OUTPUTS
from benchmarks.rivals import MODELS
from orchestrator.bench.pictures import Picture
from orchestrator.contract import ENCODED, Array
from orchestrator.errors import ModelError, ServerError

HEADER = "Inference-Header-Content-Length"
TIMEOUT_S = 60.0


@contextmanager
def connected(form: str, picture: Picture, address: str) -> Iterator[Callable[[], int]]:
    """Open a connection of one caller; gives what makes one call and returns how many plates."""
    body, header_length = _request(picture)
    headers = {HEADER: str(header_length), "Content-Type": "application/octet-stream"}
    path = f"/v2/models/{MODELS[form]}/infer"
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)

    def call() -> int:
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next call opens it again
            raise ServerError(f"{form}: wanted an answer, got {error!r}") from error
        if answer.status != 200:
            raise ModelError(f"{form}: HTTP {answer.status}: {content[:300].decode()}")
        header = json.loads(content[: int(answer.headers[HEADER] or len(content))])
        return int(header["outputs"][0]["shape"][0])

    try:
        yield call
    finally:
        connection.close()


def answer(form: str, picture: Picture, address: str) -> Mapping[str, Array]:
    """Call a form once and return its outputs.

    Raises:
        tritonclient.utils.InferenceServerException: The form answered with an error.
    """
    inputs, outputs = _tensors(picture)
    with tritonclient.http.InferenceServerClient(address) as client:
        result = client.infer(MODELS[form], inputs, outputs=outputs)
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


def _request(picture: Picture) -> tuple[bytes, int]:
    inputs, outputs = _tensors(picture)
    client = tritonclient.http.InferenceServerClient
    body, header_length = client.generate_request_body(inputs, outputs=outputs)
    return body, header_length


def _tensors(picture: Picture) -> tuple[list[Any], list[Any]]:
    tensor = tritonclient.http.InferInput(ENCODED, [1], "BYTES")
    tensor.set_data_from_numpy(np.array([picture.encoded], np.object_))
    return [tensor], [tritonclient.http.InferRequestedOutput(name) for name in OUTPUTS]
