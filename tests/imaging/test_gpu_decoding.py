"""nvImageCodec on the CPU: it gives the same pixels as OpenCV, or OpenCV decodes the file."""

import sys
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import ExtraError
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.imaging.gpu_decoding import JpegDecoder
from orchestrator.imaging.headers import Header, check_file
from workshop.benchmarks.first_light.decoding_step import KINDS, draw_files

FOR_OPENCV = {
    "four components", "RGB components", "cut off", "cut off, with an end",
    "more bytes behind its end",
}  # fmt: skip


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return draw_files()


@pytest.fixture(scope="module")
def decoder() -> JpegDecoder:
    return JpegDecoder(gpu=None)


def decode(decoder: JpegDecoder, file: bytes) -> Any:
    return decoder.decode(file, check_file(file, 10**7))


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - FOR_OPENCV))
def test_a_file_has_the_pixels_that_opencv_gives(decoder, files, kind: str) -> None:
    bgr = np.asarray(decode(decoder, files[kind]))
    np.testing.assert_array_equal(bgr, decode_bgr(files[kind]))


def test_the_colours_are_in_the_order_of_bgr(decoder: JpegDecoder) -> None:
    file, red = BytesIO(), Image.new("RGB", (32, 16), (200, 0, 0))
    red.putpixel((31, 15), (90, 0, 0))  # or it could have been cut off
    red.save(file, "JPEG")
    bgr = np.asarray(decode(decoder, file.getvalue()))
    assert bgr.shape == (16, 32, 3)
    np.testing.assert_allclose(bgr[8, 8], [0, 0, 200], atol=4)


def test_turned_files_are_upright(decoder, files) -> None:
    upright_shape = np.asarray(decode(decoder, files["orientation 1"])).shape
    turned_shape = np.asarray(decode(decoder, files["orientation 6"])).shape
    assert turned_shape == (upright_shape[1], upright_shape[0], 3)


@pytest.mark.parametrize("kind", sorted(FOR_OPENCV))
def test_other_kinds_are_left_to_opencv(decoder, files, kind: str) -> None:
    assert decode(decoder, files[kind]) is None


@pytest.mark.parametrize("number", range(1, 9))
def test_a_file_that_was_cut_off_is_found_however_it_lies(decoder, files, number: int) -> None:
    whole = files[f"orientation {number}"]
    for size in (len(whole) // 3, len(whole) * 9 // 10):
        assert decode(decoder, whole[:size] + b"\xff\xd9") is None


def test_adobes_rgb_is_left_to_opencv(decoder) -> None:
    file = BytesIO()
    Image.new("RGB", (32, 16), (200, 0, 0)).save(file, "JPEG")
    adobe = b"\xff\xee\x00\x0eAdobe\x00\x64" + bytes(5)
    assert decode(decoder, file.getvalue()[:2] + adobe + file.getvalue()[2:]) is None


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xd8\xff\xd9", id="no frame"),
        pytest.param(b"hello\xff\xd9", id="text"),
    ],
)
def test_damaged_files_never_raise(decoder: JpegDecoder, file: bytes) -> None:
    decoder.decode(file, Header(8, 8))


def test_pixels_of_zeros_never_raise(decoder, files) -> None:
    decode(decoder, files["baseline"][:-200] + bytes(198) + b"\xff\xd9")


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvidia.nvimgcodec", None)
    with pytest.raises(ExtraError, match=r"the package nvidia .* '\.\[gpu-decoding\]'"):
        JpegDecoder(gpu=None)
