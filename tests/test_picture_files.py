import io

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import PictureError
from orchestrator.images import decode
from orchestrator.picture_files import read_file, unpack


def encoded(encoding: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((20, 30, 3), (200, 0, 0), np.uint8)).save(file, encoding, **options)
    return file.getvalue()


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
    with pytest.raises(PictureError, match=r"gone\.jpg: wanted a readable file, got No such"):
        read_file(tmp_path / "gone.jpg")
