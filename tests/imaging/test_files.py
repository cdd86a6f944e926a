import base64
import io

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import PictureError
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.files import from_base64, read_file, unpack


def encoded(encoding: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((20, 30, 3), (200, 0, 0), np.uint8)).save(file, encoding, **options)
    return file.getvalue()


FILE = encoded("PNG")
TEXT = base64.b64encode(FILE)


@pytest.mark.parametrize("encoding", ["JPEG", "PNG", "WEBP", "BMP"])
def test_base64_becomes_the_file_and_a_file_stays_as_it_is(encoding: str) -> None:
    file = encoded(encoding)
    assert from_base64(file) is file
    assert from_base64(base64.b64encode(file)) == file


@pytest.mark.parametrize("line_break", [b"\n", b"\r\n"])
def test_lines_of_base64_are_joined(line_break: bytes) -> None:
    lines = base64.encodebytes(FILE).replace(b"\n", line_break)
    assert lines.count(line_break) > 1
    assert from_base64(lines) == FILE


def test_a_data_url_becomes_the_file() -> None:
    assert from_base64(b"data:image/png;base64," + TEXT) == FILE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT.rstrip(b"=")[: len(TEXT) // 4 * 4 - 3], id="cut"),
        pytest.param(TEXT[:40] + b"*" + TEXT[41:], id="no-base64"),
        pytest.param(TEXT[:40] + b"\xff" + TEXT[41:], id="no-text"),
        pytest.param(TEXT[:40] + b"====" + TEXT[44:], id="padding-inside"),
        pytest.param(b"data:image/png," + TEXT, id="another-data-url"),
        pytest.param(b"data:text/html;base64," + TEXT, id="no-image"),
    ],
)
def test_damaged_base64_is_refused(text: bytes) -> None:
    with pytest.raises(PictureError, match=r"wanted the base64 text .* got \d+ damaged char"):
        from_base64(text)


def test_nothing_stays_nothing() -> None:
    assert from_base64(b"") == b""


def test_pixels_are_bgr_and_turned_as_exif_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: show it rotated by 90 degrees
    file = encoded("JPEG", exif=exif)
    pixels = unpack(file)
    assert pixels.shape == (30, 20, 3)
    assert np.allclose(pixels[10, 10], (0, 0, 200), atol=4)
    assert np.array_equal(pixels, decode(file).numpy())


@pytest.mark.parametrize("junk", [b"", b"junk", encoded("PNG")[:40]])
def test_a_damaged_file_is_refused(junk: bytes) -> None:
    with pytest.raises(PictureError, match="damaged street"):
        unpack(junk, "street")


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    with pytest.raises(PictureError, match=r"gone\.jpg: cannot be read: No such"):
        read_file(tmp_path / "gone.jpg")
