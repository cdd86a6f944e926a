"""nvImageCodec on the CPU: it gives the same pixels as OpenCV, or OpenCV decodes the file."""

import sys
from collections.abc import Mapping
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import ExtraError
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.imaging.gpu_decoding import JpegDecoder
from workshop.benchmarks.first_light.jpeg_files import KINDS, draw_files

FOR_OPENCV = {"four components", "cut off", "more bytes behind its end"}


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return draw_files()


@pytest.fixture(scope="module")
def decoder() -> JpegDecoder:
    return JpegDecoder(gpu=None)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - FOR_OPENCV))
def test_a_file_has_the_pixels_that_opencv_gives(decoder, files, kind: str) -> None:
    bgr = np.asarray(decoder.decode(files[kind]))
    np.testing.assert_array_equal(bgr, decode_bgr(files[kind]))


def test_the_colours_are_in_the_order_of_bgr(decoder: JpegDecoder) -> None:
    file = BytesIO()
    Image.new("RGB", (32, 16), (200, 0, 0)).save(file, "JPEG")
    bgr = np.asarray(decoder.decode(file.getvalue()))
    assert bgr.shape == (16, 32, 3)
    np.testing.assert_allclose(bgr[8, 8], [0, 0, 200], atol=4)


def test_turned_files_are_upright(decoder, files) -> None:
    upright = np.asarray(decoder.decode(files["orientation 1"])).shape
    turned = np.asarray(decoder.decode(files["orientation 6"])).shape
    assert turned == (upright[1], upright[0], 3)


@pytest.mark.parametrize("kind", sorted(FOR_OPENCV))
def test_other_kinds_are_left_to_opencv(decoder, files, kind: str) -> None:
    assert decoder.decode(files[kind]) is None


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xd8\xff\xd9", id="no frame"),
        pytest.param(b"hello\xff\xd9", id="text"),
    ],
)
def test_damaged_files_never_raise(decoder: JpegDecoder, file: bytes) -> None:
    decoder.decode(file)


def test_pixels_of_zeros_never_raise(decoder, files) -> None:
    decoder.decode(files["baseline"][:-200] + bytes(198) + b"\xff\xd9")


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvidia.nvimgcodec", None)
    with pytest.raises(ExtraError, match=r"the package nvidia .* '\.\[gpu-decoding\]'"):
        JpegDecoder(gpu=None)
