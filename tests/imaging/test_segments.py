"""The parts of a file that reach a decoder, and files that would take too long to decode."""

import struct
import zlib
from contextlib import suppress

import cv2
import numpy as np
import pytest

from orchestrator.errors import PictureError
from orchestrator.imaging.headers import Header, check_file
from orchestrator.imaging.segments import MAX_CHUNKS, MAX_SCANS, MAX_SEGMENTS, keep_pixels
from tests.fuzzing.file_parts import (
    PNG,
    behind_soi,
    chunk,
    encode,
    exif,
    ihdr,
    pixels,
    png,
    segment,
)
from tests.fuzzing.hostile_bombs import many_scans

TURN = exif((0x0112, 3, 1, 6))[10:]
"""EXIF data of a PNG chunk: the picture is to be rotated clockwise."""
OWN_SCANS = 6
"""Number of scans of a grey progressive JPEG; the last of them is repeated."""


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(png(), id="PNG"),
        pytest.param(encode("JPEG"), id="JPEG"),
        pytest.param(encode("WEBP"), id="WebP"),
        pytest.param(encode("BMP"), id="BMP"),
        pytest.param(b"", id="nothing"),
        pytest.param(encode("JPEG") + b"\xff\xda" * 5000, id="JPEG before something else"),
    ],
)
def test_a_file_without_superfluous_parts_stays_as_it_is(file: bytes) -> None:
    assert keep_pixels(file) is file


def test_a_decoder_gets_of_a_png_what_its_pixels_come_from() -> None:
    text, colours = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(9))), chunk(b"tRNS", bytes(6))
    orientation = chunk(b"eXIf", TURN)
    assert keep_pixels(png(text, colours, orientation, after=text)) == png(colours, orientation)


def test_bytes_behind_the_end_of_a_png_are_left_out() -> None:
    file = png(chunk(b"tEXt"))
    assert keep_pixels(file + b"PK\x05\x06") == png()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        pytest.param(
            PNG + ihdr(8, 8) + chunk(b"IDAT", b"x", size=4_000_000_000),
            "damaged cat: wanted chunks that end within the file, got one that ends 3999999999",
            id="a chunk of 4 GB",
        ),
        pytest.param(png()[:-5], "one that ends 5 bytes behind it", id="PNG cut off"),
        pytest.param(PNG, "one that ends 12 bytes behind it", id="nothing but its name"),
        pytest.param(
            PNG + chunk(b"tEXt") * MAX_CHUNKS, "50000 chunks, got more", id="chunks"
        ),
        pytest.param(many_scans(MAX_SCANS), "up to 32 scans, got more", id="scans"),
        pytest.param(
            behind_soi(encode("JPEG"), *[segment(0xFE, b"")] * MAX_SEGMENTS),
            "up to 2000 segments, got more",
            id="segments",
        ),
    ],
)  # fmt: skip
def test_a_file_with_parts_that_cost_too_much_is_refused(file: bytes, message: str) -> None:
    with pytest.raises(PictureError, match=message):
        keep_pixels(file, "cat")


def test_as_many_scans_as_allowed_are_taken() -> None:
    file = many_scans(MAX_SCANS - OWN_SCANS)
    assert keep_pixels(file) is file


def test_scans_count_behind_a_first_one_of_one_component() -> None:
    """Counting continues after a later scan of all components."""
    frame = segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 3) + bytes(9))
    part, whole = (segment(0xDA, bytes([count]) + bytes(2 * count + 3)) for count in (1, 3))
    with pytest.raises(PictureError, match="up to 32 scans"):
        keep_pixels(b"\xff\xd8" + frame + part + whole * MAX_SCANS)


def jpeg_of(*parts: bytes) -> bytes:
    return b"\xff\xd8" + b"".join(parts)


def frame(marker: int, side: int = 8) -> bytes:
    return segment(marker, struct.pack(">BHHB", 8, side, side, 1) + bytes(3))


SCAN = segment(0xDA, bytes([1, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize("marker", [0xC0, 0xC1, 0xC9])
def test_the_first_scan_of_a_sequential_jpeg_is_all_of_it(marker: int) -> None:
    assert keep_pixels(file := jpeg_of(frame(marker), SCAN * 99)) is file


@pytest.mark.parametrize("marker", [0xC2, 0xC3, *range(0xC5, 0xC8), 0xCA, 0xCB, *range(0xCD, 0xD0)])
def test_scans_of_any_other_jpeg_are_counted_for_its_size(marker: int) -> None:
    assert keep_pixels(file := jpeg_of(frame(marker, 7056), SCAN * 20)) is file
    with pytest.raises(PictureError, match="up to 20 scans"):
        keep_pixels(jpeg_of(frame(marker, 7056), SCAN * 21))


@pytest.mark.parametrize("marker", [0xC4, 0xC8, 0xCC])
def test_tables_between_the_codes_of_frames_are_no_frames(marker: int) -> None:
    assert keep_pixels(file := jpeg_of(frame(0xC2), frame(marker, 65_535), SCAN * 32)) is file


@pytest.mark.parametrize("alone", [b"\xff\x01", b"\xff\xd8"])
def test_a_marker_without_a_segment_hides_no_scans(alone: bytes) -> None:
    with pytest.raises(PictureError, match="up to 32 scans"):
        keep_pixels(jpeg_of(frame(0xC2), alone, SCAN * 33))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((frame(0xC2), SCAN * 33), id="progressive"),
        pytest.param((frame(0xC0), frame(0xC2), SCAN * 33), id="a second frame"),
        pytest.param((segment(0xFE, b"") * 1000, frame(0xC0), SCAN * 33), id="many segments"),
        pytest.param((frame(0xC0), b" " * 2000, SCAN * 33), id="a gap"),
        pytest.param((frame(0xC0),), id="no scan"),
    ],
)
def test_a_header_vouches_only_for_scans_that_need_no_check(parts: tuple[bytes, ...]) -> None:
    assert check_file(jpeg_of(frame(0xC0), SCAN * 99), 10**6).is_one_scan
    assert not any(header.is_one_scan for header in headers_of(jpeg_of(*parts)))


def headers_of(file: bytes) -> list[Header]:
    """Return the header of a file; none when it is refused."""
    with suppress(PictureError):
        return [check_file(file, 10**6)]
    return []


def test_pixels_stay_the_same() -> None:
    noise = np.random.default_rng(3).integers(0, 256, (16, 24, 3), np.uint8)
    file = cv2.imencode(".png", noise)[1].tobytes()
    head = len(PNG) + 25
    with_text = file[:head] + chunk(b"tEXt", b"a\0b") + file[head:]
    content = keep_pixels(with_text)
    assert content == file
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(content, np.uint8), 1), noise)


def test_rows_behind_the_last_one_are_no_reason_to_refuse() -> None:
    file = PNG + ihdr(8, 8) + chunk(b"IDAT", pixels(8, 80)) + chunk(b"IEND")
    assert keep_pixels(file) is file
