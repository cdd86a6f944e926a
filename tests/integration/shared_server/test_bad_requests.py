"""Each bad request gets INVALID_ARG with what was expected, and does not disturb others."""

import base64

import cv2
import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from orchestrator.contract import MODEL
from tests.integration.conftest import GREY


def too_large() -> bytes:
    """Return the base64 of a small file with many pixels."""
    return base64.b64encode(cv2.imencode(".png", np.zeros((8000, 8000), np.uint8))[1].tobytes())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        pytest.param(lambda w: [], "input", id="no input"),
        pytest.param(
            lambda w: [w.pixels(GREY.astype(np.float32))],
            "data-type is 'FP32', but .* expects 'UINT8'",
            id="dtype",
        ),
        pytest.param(
            lambda w: [w.pixels(GREY), w.file(b"x")],
            "exactly one of input__0 and encoded_image, got input__0 and encoded_image",
            id="both inputs",
        ),
        pytest.param(lambda w: [w.file(b"x", b"y")], "unexpected shape", id="two files"),
        pytest.param(
            lambda w: [w.file(too_large())],
            "wanted 1 to 50000000 pixels, got 8000x8000",
            id="too large in base64",
        ),
    ],
)
def test_a_bad_input_is_refused(wire, triton, inputs, message: str) -> None:
    with pytest.raises(InferenceServerException, match=message) as caught:
        triton.infer(MODEL, inputs(wire))
    assert caught.value.status() in {"400", "StatusCode.INVALID_ARGUMENT"}
    assert triton.infer(MODEL, [wire.pixels(GREY)]).as_numpy("texts").shape == (0, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        pytest.param({"threshold": 0.5}, "wanted some of .* got threshold", id="unknown"),
        pytest.param({"roi": "500,500,600,600"}, "a part of the 400x300 picture", id="outside"),
    ],
)
def test_a_bad_parameter_is_refused(wire, triton, parameters, message: str) -> None:
    with pytest.raises(InferenceServerException, match=message) as caught:
        triton.infer(MODEL, [wire.pixels(GREY)], parameters=parameters)
    assert caught.value.status() in {"400", "StatusCode.INVALID_ARGUMENT"}
