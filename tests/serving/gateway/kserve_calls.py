"""Calls as tritonclient sends them over HTTP, and as JSON."""

import json

import numpy as np
from tritonclient.http import (
    InferenceServerClient,
    InferInput,
)

from orchestrator.serving.protocol.kserve_http import HttpInferenceRequest, parse

MODEL = "plate_recognition"
PICTURE = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
FILE = np.array([b"\xff\xd8 a file"], np.object_)
TEXT = np.array([b"/9j/text"], np.object_)


def sent(array: np.ndarray, name: str, binary: bool = True) -> InferInput:
    datatype = "BYTES" if array.dtype == np.object_ else "UINT8"
    tensor = InferInput(name, list(array.shape), datatype)
    return tensor.set_data_from_numpy(array, binary_data=binary)


def understood(*inputs: InferInput, **arguments) -> HttpInferenceRequest:
    """Return the parsed request of a call that tritonclient makes."""
    body, json_size = InferenceServerClient.generate_request_body(list(inputs), **arguments)
    return parse(MODEL, "", body, json_size, {})


def parsed(**members: object) -> HttpInferenceRequest:
    """Return the parsed request of a call in JSON."""
    return parse(MODEL, "", json.dumps(members).encode(), None, {})


def tensor(**changes: object) -> dict[str, object]:
    picture = {"name": "input__0", "datatype": "UINT8", "shape": [1, 2, 3], "data": [0] * 6}
    return {name: value for name, value in (picture | changes).items() if value is not None}
