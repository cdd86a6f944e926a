"""What a picture file says of itself, read from its header alone.

A decoder's own parser is made for files of friends: Pillow's inflates up to 64 MiB of text chunks
and walks through millions of empty ones, 0.15 s for each megabyte of the file. These steps are
bounded, and nothing is unpacked.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.errors import PictureError
from orchestrator.picture_parts import FRAMES, MOST_SCANS, SEQUENTIAL

PNG = b"\x89PNG\r\n\x1a\n"
MOST_PARTS = 1000
"""Segments of a JPEG or chunks of a PNG before its pixels; a camera's file has some 20."""
ALONE = {0x01, *range(0xD0, 0xD9)}
"""JPEG markers without a segment: TEM, RST0 to RST7, SOI."""
START_OF_SCAN, END_OF_IMAGE = 0xDA, 0xD9
MARKER = re.compile(rb"\xff([^\x00\xff])")
MOST_FILL = 1024
"""Bytes between two segments of a JPEG."""
ANIMATION = 0x02
"""Flag of a WebP file's VP8X chunk."""
OLD_BMP = 12
"""Size of the header of OS/2's BMP, whose sides have two bytes."""


MOST_COMPONENTS = 4
"""Of a JPEG that a decoder takes."""
COEFFICIENT_BYTES = 2
PIXEL_BYTES, COPY_BYTES = 3, 4
"""Memory for each pixel: of the picture, and of the copy that OpenCV makes of it, with the rest."""
SLOWEST_PIXELS = 40e6
"""Pixels that one pass goes through in a second at least; 150 million alone on a core were seen."""


@dataclass(frozen=True)
class Header:
    """What a picture file says of itself.

    Attributes:
        width: Pixels, before EXIF orientation.
        height: Pixels.
        is_animated: It holds several pictures, to be shown one after the other.
        scans: How often its decoder goes through all pixels, at most; more than once for a JPEG
            that is progressive, or whose components come one after the other.
        kept_bytes: Memory for each pixel that the decoder keeps between such scans.
    """

    width: int
    height: int
    is_animated: bool = False
    scans: int = 1
    kept_bytes: int = 0

    @property
    def unpacking_bytes(self) -> int:
        """Memory that unpacking takes at most.

        Measured with OpenCV 4.11: 6.0 bytes a pixel for most files, 7.0 for WebP without loss, 9.0
        for progressive JPEG in full colour, 11.0 for that of four components.
        """
        return self.width * self.height * (PIXEL_BYTES + max(COPY_BYTES, self.kept_bytes))

    @property
    def passes(self) -> float:
        """As how many pictures of one scan it takes time to unpack.

        Measured: a progressive JPEG of ten scans takes 1.3 s, one of a single scan 0.3 s.
        """
        return max(1.0, self.scans / 2)

    @property
    def unpacking_s(self) -> float:
        """Seconds that unpacking takes at most, on a core that others use, too."""
        return self.width * self.height * self.passes / SLOWEST_PIXELS


def check_file(encoded: bytes, max_pixels: int) -> Header:
    """Return the header of a JPEG, PNG, WebP or BMP file of one picture that is not too large.

    Args:
        encoded: The file's bytes.
        max_pixels: Largest width x height accepted.

    Raises:
        PictureError: It is not such a file; whether its pixels are whole is not looked at.
    """
    header = _read(encoded)
    if header is None:
        raise PictureError(
            f"encoded_image: wanted a JPEG, PNG, WebP or BMP file, "
            f"got {len(encoded)} bytes that are none"
        )
    if header.is_animated:
        raise PictureError("encoded_image: wanted one picture, got an animation")
    check_pixels(header.width, header.height, max_pixels)
    return header


def check_pixels(width: int, height: int, max_pixels: int) -> None:
    """Refuse a picture that has no pixel, or too many.

    Raises:
        PictureError: It has.
    """
    if width < 1 or height < 1 or width * height > max_pixels:
        raise PictureError(
            f"picture size: wanted 1 to {max_pixels} pixels, got {width}x{height} pixels"
        )


def _read(file: bytes) -> Header | None:
    if file.startswith(b"\xff\xd8\xff"):
        return _read_jpeg(file)
    if file.startswith(PNG):
        return _read_png(file)
    if file[:4] == b"RIFF" and file[8:12] == b"WEBP":
        return _read_webp(file)
    return _read_bmp(file) if file.startswith(b"BM") else None


def _read_jpeg(file: bytes) -> Header | None:
    """Return what the first frame says, and whether its first scan holds all of it."""
    frame, is_sequential, is_whole = 0, False, False
    for marker, at in _segments(file):
        if marker == START_OF_SCAN:
            is_whole = file[at + 2 : at + 3] == file[frame + 7 : frame + 8]
            break
        if not frame and marker in FRAMES:
            frame, is_sequential = at, marker in SEQUENTIAL
    return _read_frame(file, frame, is_one_scan=is_sequential and is_whole) if frame else None


def _segments(jpeg: bytes) -> Iterator[tuple[int, int]]:
    """Yield markers, and where what follows them begins, as libjpeg walks over them."""
    at = 2
    for _ in range(MOST_PARTS):
        found = MARKER.search(jpeg, at, at + MOST_FILL)
        if found is None or found[1][0] == END_OF_IMAGE:
            return
        marker, at = found[1][0], found.end()
        yield marker, at
        if marker not in ALONE:
            size = int.from_bytes(jpeg[at : at + 2], "big")
            if size < 2:
                return
            at += size


def _read_frame(jpeg: bytes, at: int, *, is_one_scan: bool) -> Header:
    """Return the header of a frame; where it may have more scans, these are counted by their bytes.

    Pixels never look like the start of a scan, other segments seldom do.
    """
    height, width, components = _unpack(">HHB", jpeg, at + 3)
    if is_one_scan:
        return Header(width, height)
    scans = min(max(1, jpeg.count(b"\xff\xda", at)), MOST_SCANS)
    kept_bytes = COEFFICIENT_BYTES * min(components, MOST_COMPONENTS)
    return Header(width, height, scans=scans, kept_bytes=kept_bytes)


def _read_png(file: bytes) -> Header | None:
    """Walk the chunks up to the pixels: a chunk `acTL` makes an animation of it."""
    if file[12:16] != b"IHDR":
        return None
    width, height = _unpack(">II", file, 16)
    at = len(PNG)
    for _ in range(MOST_PARTS):
        size, kind = int.from_bytes(file[at : at + 4], "big"), file[at + 4 : at + 8]
        frames = int.from_bytes(file[at + 8 : at + 12], "big") if kind == b"acTL" else 1
        if kind == b"IDAT" or frames > 1:
            return Header(width, height, is_animated=frames > 1)
        at += size + 12
        if at >= len(file):
            return None
    return None


def _read_webp(file: bytes) -> Header | None:
    kind = file[12:16]
    if kind == b"VP8X":
        flags, low, high = _unpack("<IIH", file, 20)
        both = low | high << 32  # sides of three bytes, one less than they are
        width, height = (both & 0xFFFFFF) + 1, (both >> 24) + 1
        return Header(width, height, is_animated=bool(flags & ANIMATION))
    if kind == b"VP8L":
        (bits,) = _unpack("<I", file, 21)
        return Header((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = _unpack("<HH", file, 26)
        return Header(width & 0x3FFF, height & 0x3FFF)
    return None


def _read_bmp(file: bytes) -> Header | None:
    (size,) = _unpack("<I", file, 14)
    width, height = _unpack("<HH" if size == OLD_BMP else "<ii", file, 18)
    return Header(width, abs(height))  # rows from the top where it is negative


def _unpack(layout: str, file: bytes, at: int) -> tuple[int, ...]:
    """Return whole numbers of the file; zeros where it ends before."""
    size = struct.calcsize(layout)
    return struct.unpack(layout, file[at : at + size].ljust(size, b"\0"))
