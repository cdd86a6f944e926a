"""Crops as calls, without a server."""

import io

import numpy as np
import pytest
from PIL import Image

from orchestrator.client.crop_requests import make_crop_requests
from orchestrator.contract import CROP
from orchestrator.errors import PictureError
from tests.fuzzing.file_parts import bmp, encoded


def tiff() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (31, 17)).save(file, "TIFF")
    return file.getvalue()


def test_a_file_is_unpacked() -> None:
    (call,) = make_crop_requests([encoded("PNG", size_wh=(31, 17))], {})
    assert call.inputs[CROP].shape == (17, 31, 3)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        pytest.param(tiff(), "wanted a JPEG, PNG, WebP or BMP file", id="format"),
        pytest.param(bmp(10_000, 10_000), "wanted 1 to 50000000 pixels", id="size"),
    ],
)
def test_a_header_is_checked_before_a_file_is_unpacked(
    file: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cv2.imdecode", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(PictureError, match=rf"crop 1: .*{reason}"):
        make_crop_requests([np.zeros((2, 2, 3), np.uint8), file], {})
