import io
import sys
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from orchestrator.errors import PictureError
from orchestrator.imaging.decoding import check_picture, decode, decode_bgr, read_picture
from tests.child_python import run_python
from tests.samples import PROJECT, STREET
from workshop.benchmarks.first_light.decoding_step import KINDS


def encode(rgb: np.ndarray, encoding: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, encoding, **options)
    return file.getvalue()


class TestDecode:
    @pytest.mark.parametrize("encoding", ["PNG", "BMP", "WEBP", "JPEG"])
    def test_every_encoding_gives_bgr(self, encoding: str) -> None:
        red = np.full((20, 30, 3), (200, 0, 0), np.uint8)
        picture = decode(encode(red, encoding))
        assert picture.shape == (20, 30, 3)
        assert picture.dtype == torch.uint8
        assert torch.allclose(picture[10, 15].float(), torch.tensor([0.0, 0, 200]), atol=4)

    def test_grey_and_transparent_pictures_become_bgr(self) -> None:
        assert decode(encode(np.zeros((4, 5), np.uint8))).shape == (4, 5, 3)
        assert decode(encode(np.zeros((4, 5, 4), np.uint8))).shape == (4, 5, 3)

    @pytest.mark.parametrize(
        "junk",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"not a picture", id="text"),
            pytest.param(encode(np.zeros((4, 5, 3), np.uint8), "GIF"), id="GIF"),
            pytest.param(encode(np.zeros((4, 5, 3), np.uint8))[:20], id="header alone"),
        ],
    )
    def test_bytes_that_are_no_picture_are_refused(self, junk: bytes) -> None:
        with pytest.raises(PictureError, match="wanted a JPEG, PNG, WebP or BMP file"):
            decode(junk)

    def test_a_damaged_picture_is_refused(self) -> None:
        png = bytearray(encode(np.zeros((40, 50, 3), np.uint8)))
        png[41:] = b"\xff" * (len(png) - 41)
        with pytest.raises(PictureError, match="damaged 50x40 picture"):
            decode(bytes(png))

    def test_a_huge_picture_is_refused_before_it_is_unpacked(self) -> None:
        bomb = encode(np.zeros((3000, 3000, 3), np.uint8))
        assert len(bomb) < 100_000
        with pytest.raises(PictureError, match="wanted 1 to 1000000 pixels, got 3000x3000"):
            decode(bomb, max_pixels=1_000_000)

    def test_a_file_is_read(self, tmp_path) -> None:
        (tmp_path / "a.png").write_bytes(encode(np.zeros((4, 5, 3), np.uint8)))
        assert read_picture(tmp_path / "a.png").shape == (4, 5, 3)


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(torch.zeros(4, 4, 3), id="float"),
        pytest.param(torch.zeros(4, 4, dtype=torch.uint8), id="grey"),
        pytest.param(torch.zeros(4, 4, 4, dtype=torch.uint8), id="four channels"),
        pytest.param(torch.zeros(1, 4, 4, 3, dtype=torch.uint8), id="batch"),
    ],
)
def test_a_tensor_that_is_no_picture_is_refused(picture: torch.Tensor) -> None:
    with pytest.raises(PictureError, match=r"wanted a UINT8 picture .* got torch"):
        check_picture(picture, max_pixels=100)


@pytest.mark.parametrize("picture", ["car.jpg", b"", None])
def test_a_file_or_nothing_is_no_picture(picture: Any) -> None:
    with pytest.raises(PictureError, match=r"got (str|bytes|NoneType); read_picture makes"):
        check_picture(picture, max_pixels=100)


def test_a_picture_without_pixels_is_refused() -> None:
    with pytest.raises(PictureError, match="got 4x0 pixels"):
        check_picture(torch.zeros(0, 4, 3, dtype=torch.uint8), max_pixels=100)


def test_a_picture_that_there_is_no_memory_for_is_not_called_damaged() -> None:
    code = (
        "import resource, cv2, numpy as np\n"
        "from orchestrator.imaging.decoding import decode_bgr\n"
        "from orchestrator.errors import Overloaded\n"
        "file = cv2.imencode('.png', np.zeros((4000, 6000, 3), np.uint8))[1].tobytes()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**25, resource.RLIM_INFINITY))\n"
        "try: decode_bgr(file)\n"
        "except Overloaded as error: print(error)\n"
    )
    process = run_python(code, check=False, cwd=PROJECT)
    assert process.stdout == "wanted memory for a 6000x4000 picture, got none\n", process.stderr


@pytest.fixture(scope="module")
def jpegs() -> Mapping[str, bytes]:
    street = Image.open(STREET).resize((641, 481))
    files = {kind: save(street) for kind, save in KINDS.items()}
    whole = files["baseline"]
    damaged_file = bytes(
        value ^ 0x55 if at % 997 == 996 else value for at, value in enumerate(whole)
    )
    return files | {
        "damaged": damaged_file,
        "bytes before its end": whole[:-2] + bytes(5) + whole[-2:],
    }


def pixels_or_error(file: bytes) -> np.ndarray | str:
    try:
        return decode_bgr(file)
    except PictureError as error:
        return str(error)


@pytest.mark.parametrize("kind", [*KINDS, "damaged", "bytes before its end"])
def test_a_jpeg_has_the_pixels_or_the_error_that_opencv_gives(
    jpegs: Mapping[str, bytes], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = pixels_or_error(jpegs[kind])
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    np.testing.assert_array_equal(outcome, pixels_or_error(jpegs[kind]))


@pytest.mark.parametrize("kind", ["baseline", "grey", "orientation 6", "restart markers"])
def test_a_sound_jpeg_does_without_opencv(
    jpegs: Mapping[str, bytes], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cv2, "imdecode", None)
    assert decode_bgr(jpegs[kind]).any()
