"""Conversion of phones' HEIC files to JPEG."""

import io

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import PictureError
from orchestrator.imaging import heic
from orchestrator.imaging.heic import is_heic, to_jpeg
from tests.imaging.heic_files import heic_of
from tests.samples import STREET


@pytest.fixture(scope="module")
def street() -> bytes:
    return heic_of(STREET)


def open_jpeg(jpeg: bytes) -> Image.Image:
    assert jpeg.startswith(b"\xff\xd8")
    return Image.open(io.BytesIO(jpeg))


@pytest.mark.parametrize("file", [b"", b"\xff\xd8\xff", b"GIF89a"])
def test_other_files_are_not_heic(file: bytes) -> None:
    assert not is_heic(file)


def test_the_pixels_stay_nearly_the_same(street: bytes) -> None:
    assert is_heic(street)
    with Image.open(STREET) as original, open_jpeg(to_jpeg(street)) as converted_picture:
        difference = np.abs(
            np.asarray(original.reduce(4), np.int16) - np.asarray(converted_picture.convert("RGB"))
        )
    assert difference.mean() < 4


def test_the_picture_is_upright_and_says_nothing_more() -> None:
    with open_jpeg(to_jpeg(heic_of(STREET, orientation=6))) as converted_picture:
        assert converted_picture.size == (240, 320)
        assert not converted_picture.getexif()


def test_the_size_is_checked_before_anything_is_decoded(street: bytes) -> None:
    begin, end = street.find(b"mdat") + 4, len(street) - 300
    broken_file = street[:begin] + bytes(end - begin) + street[end:]  # headers and EXIF are whole
    with pytest.raises(PictureError, match=r"wanted up to 1,000 pixels, got 320x240"):
        to_jpeg(broken_file, max_pixels=1000)
    with pytest.raises(PictureError, match="damaged HEIC file"):
        to_jpeg(broken_file)


def test_a_file_of_too_many_bytes_is_not_opened(
    street: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heic, "MAX_MB", 0)
    with pytest.raises(PictureError, match="wanted a HEIC file of up to 0 MB, got a larger one"):
        to_jpeg(street)


def test_a_header_alone_is_damaged(street: bytes) -> None:
    with pytest.raises(PictureError, match="damaged HEIC file"):
        to_jpeg(street[:40])


def test_without_the_package_the_way_to_it_is_told(
    street: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heic, "can_read", lambda: False)
    with pytest.raises(PictureError, match=r"a HEIC file; .* \(pip install pillow-heif\), or conv"):
        to_jpeg(street)
