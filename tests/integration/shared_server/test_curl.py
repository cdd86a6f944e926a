"""Calls with only a shell and curl."""

import json
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest

from workshop.rendering.scenery import scene

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

    def asked(line: str, picture: bytes) -> dict:
        for program in ("curl", "base64"):
            if not shutil.which(program):
                pytest.skip(f"{program}: none on the PATH")
        (tmp_path / "car.jpg").write_bytes(picture)
        here = line.replace("localhost:8000", server.options.http_url)
        done = subprocess.run(["sh", "-c", here], cwd=tmp_path, capture_output=True, check=True)
        return json.loads(done.stdout)

    return asked


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
