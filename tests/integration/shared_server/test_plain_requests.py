"""Plain requests of tritonclient and curl: networks alone, large pictures, and bad ones."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from orchestrator.contract import MODEL
from tests.integration.conftest import GREY
from workshop.rendering.scenery import scene


def too_large() -> bytes:
    """Return the base64 of a small file with many pixels."""
    return base64.b64encode(cv2.imencode(".png", np.zeros((8000, 8000), np.uint8))[1].tobytes())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        pytest.param(lambda wire: [], "input", id="no input"),
        pytest.param(
            lambda wire: [wire.pixels(GREY.astype(np.float32))],
            "data-type is 'FP32', but .* expects 'UINT8'",
            id="dtype",
        ),
        pytest.param(
            lambda wire: [wire.pixels(GREY), wire.file(b"x")],
            "exactly one of input__0 and encoded_image, got input__0 and encoded_image",
            id="both inputs",
        ),
        pytest.param(lambda wire: [wire.file(b"x", b"y")], "unexpected shape", id="two files"),
        pytest.param(
            lambda wire: [wire.file(too_large())],
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


def test_the_networks_are_models_of_their_own(wire, triton) -> None:
    crops = np.zeros((3, 3, 24, 94), np.float32)
    straight = triton.infer("stn", [wire.pixels(crops)])
    assert straight.as_numpy("output__0").shape == (3, 3, 24, 94)
    assert straight.as_numpy("output__1").shape == (3, 2, 3)
    logits = triton.infer("lprnet", [wire.pixels(crops)]).as_numpy("output__0")
    assert logits.shape == (3, 24, 18)


def test_the_detector_takes_batches(wire, triton) -> None:
    net = np.full((2, 64, 96, 3), 114, np.uint8)
    rows = triton.infer("yolo", [wire.pixels(net)]).as_numpy("output__0")
    assert rows.shape[0] == 2
    assert rows.shape[2] == 6


def test_a_size_the_detector_cannot_take_is_refused_alone(wire, triton) -> None:
    with pytest.raises(InferenceServerException, match=r"cannot infer on \[1, 50, 70, 3\]"):
        triton.infer("yolo", [wire.pixels(np.zeros((1, 50, 70, 3), np.uint8))])
    assert triton.infer("yolo", [wire.pixels(np.zeros((1, 64, 64, 3), np.uint8))])


READ = (
    """printf '{"inputs":[{"name":"encoded_image","datatype":"BYTES","shape":[1],"data":["%s"]}],"""
    """"outputs":[{"name":"texts"}]}' "$(base64 -w0 car.jpg)" | """
    "curl -s localhost:8000/v2/models/plate_recognition/infer -d @-"
)
"""The curl command of the documentation."""
AS_JSON = f"{READ} -H content-type:application/json"
"""Command for pictures of 3 MB and more; without its header, Triton reads the body as a form."""


@pytest.fixture
def ask(server, tmp_path: Path):
    """Run a command with a picture in a shell; return curl's output."""

    def run_line(line: str, picture: bytes) -> dict:
        for program in ("curl", "base64"):
            if not shutil.which(program):
                pytest.skip(f"{program}: none on the PATH")
        (tmp_path / "car.jpg").write_bytes(picture)
        here = line.replace("localhost:8000", server.options.http_url)
        child = subprocess.run(["sh", "-c", here], cwd=tmp_path, capture_output=True, check=True)
        return json.loads(child.stdout)

    return run_line


def texts(answer: dict) -> list[str]:
    (output,) = answer["outputs"]
    return sorted(output["data"])


@pytest.mark.parametrize(
    ("line", "least_mb", "side_px"),
    [pytest.param(READ, 1, 700, id="1MB"), pytest.param(AS_JSON, 10, 2000, id="10MB")],
)
def test_a_large_picture_is_no_longer_a_line(ask, line: str, least_mb: int, side_px: int) -> None:
    street = scene(["A123BC77"], (640, 480), seed=2).picture
    noise = np.random.default_rng(0).integers(0, 256, (side_px, side_px, 3), np.uint8)
    noise[: street.shape[0], : street.shape[1]] = street
    picture = cv2.imencode(".png", noise)[1].tobytes()
    assert len(picture) > least_mb * 1_000_000
    assert texts(ask(line, picture)) == ["A123BC77"]
