"""The orientation in EXIF data, compared with Pillow."""

import io
import struct

import numpy as np
import pytest
from PIL import Image, ImageOps

from orchestrator.imaging.decoding import decode_bgr
from orchestrator.imaging.headers import check_file
from orchestrator.imaging.orientation import orientation_of

XMP = b"http://ns.adobe.com/xap/1.0/\0and so on"


def exif_of(
    order: str, orientation: int, *, kind: int = 3, earlier_entries: int = 0, at: int = 8
) -> bytes:
    """Return EXIF data whose one directory begins at a position, with entries before ours."""
    value = struct.pack(order + ("HH" if kind == 3 else "I"), *(orientation, 0)[: 5 - kind])
    entries = [
        struct.pack(order + "HHIHH", 0x9000 + index, 3, 1, 1, 0) for index in range(earlier_entries)
    ]
    entries.append(struct.pack(order + "HHI", 0x112, kind, 1) + value)
    name = b"II" if order == "<" else b"MM"
    head = name + struct.pack(order + "HI", 42, at) + bytes(at - 8)
    return head + struct.pack(order + "H", len(entries)) + b"".join(entries) + bytes(4)


def encode(encoding: str, exif: bytes = b"") -> bytes:
    file = io.BytesIO()
    Image.fromarray(CORNERS).convert("RGB").save(file, encoding, **({"exif": exif} if exif else {}))
    return file.getvalue()


def jpeg(*segments: bytes) -> bytes:
    """Return a JPEG with segments of the kind that EXIF data are in."""
    plain = encode("JPEG")
    parts = (b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment for segment in segments)
    return plain[:2] + b"".join(parts) + plain[2:]


CORNERS = np.array([[0, 80], [160, 240]], np.uint8).repeat(10, 0).repeat(15, 1)
"""20 rows of 30 pixels whose four corners differ."""


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("encoding", ["JPEG", "PNG", "WEBP"])
def test_pictures_of_all_formats_are_turned_upright(encoding: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x112] = orientation
    file = encode(encoding, exif.tobytes())
    upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))).convert("RGB"))
    np.testing.assert_allclose(decode_bgr(file).astype(int), upright[:, :, ::-1], atol=12)
    assert (*check_file(file, 600).upright_wh[::-1], 3) == upright.shape


@pytest.mark.parametrize(
    ("file", "wh"),
    [
        pytest.param(encode("BMP"), (30, 20), id="BMP"),
        pytest.param(encode("JPEG"), (30, 20), id="JPEG without EXIF"),
        pytest.param(encode("PNG"), (30, 20), id="PNG without EXIF"),
        pytest.param(jpeg(b"Exif\0\0" + exif_of("<", 6)), (20, 30), id="little endian"),
        pytest.param(jpeg(b"Exif\0\0" + exif_of(">", 6)), (20, 30), id="big endian"),
        pytest.param(
            jpeg(b"Exif\0\0" + exif_of("<", 6, earlier_entries=9)), (20, 30), id="tenth entry"
        ),
        pytest.param(jpeg(b"Exif\0\0" + exif_of(">", 8, at=20)), (20, 30), id="farther behind"),
        pytest.param(jpeg(b"Exif\0\0" + exif_of("<", 6, kind=4)), (20, 30), id="as four bytes"),
        pytest.param(jpeg(b"Exif\0\0" + exif_of(">", 6, kind=4)), (20, 30), id="four, big endian"),
        pytest.param(jpeg(XMP, b"Exif\0\0" + exif_of("<", 6)), (20, 30), id="behind XMP"),
        pytest.param(jpeg(b"Exif\0\0"), (30, 20), id="empty"),
        pytest.param(jpeg(b"Exif\0\0" + exif_of("<", 6)[:15]), (30, 20), id="cut off"),
        pytest.param(jpeg(b"Exif\0\0" + exif_of("<", 6, at=9000)[:40]), (30, 20), id="elsewhere"),
    ],
)
def test_the_size_is_that_of_the_picture_as_decoded(file: bytes, wh: tuple[int, int]) -> None:
    assert check_file(file, 600).upright_wh == wh
    assert decode_bgr(file).shape == (*wh[::-1], 3)


@pytest.mark.parametrize("size", range(8))
def test_data_that_are_too_short_have_no_orientation(size: int) -> None:
    assert orientation_of(exif_of("<", 6)[:size]) == 1


def test_an_orientation_behind_very_many_entries_is_not_searched_for() -> None:
    assert orientation_of(exif_of("<", 6, earlier_entries=199)) == 6
    assert orientation_of(exif_of("<", 6, earlier_entries=200)) == 1
