"""Removes the parts of a picture file that would cost a decoder too much for their size.

Decoders are not made for hostile files. Measured with OpenCV 4.11:

- A PNG of 81 bytes, whose one chunk claims to have 4 GB, takes 4 GB and 5 s.
- A PNG of 0.8 MB with a hundred compressed texts, which are not used, takes 5 s.
- A JPEG's pixels are all processed again for each scan of 14 bytes: 20 MB of scans take hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.errors import PictureError

PNG = b"\x89PNG\r\n\x1a\n"
DRAWN = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"eXIf", b"IEND"}
"""Chunks of a PNG that produce its pixels, and their orientation."""
MAX_CHUNKS = 50_000
"""Largest number of chunks of a PNG; its pixels usually come in chunks of 8 kB or more."""
JPEG = b"\xff\xd8\xff"
END_OF_JPEG = b"\xff\xd9"
"""The last bytes of a JPEG; they never occur among its pixels."""
MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
"""A marker of a JPEG, outside its pixels or between them."""
START_OF_SCAN, END_OF_IMAGE = 0xDA, 0xD9
SEQUENTIAL = {0xC0, 0xC1, 0xC9}
"""JPEG markers of frames with complete components, all in one scan or each in its own scan."""
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG markers of frames; DHT, JPG and DAC have codes between them, but are no frames."""
ALONE = {0x01, 0xD8}
"""JPEG markers without a segment: TEM, SOI."""
MAX_SCANS, MAX_SEGMENTS = 32, 2000
"""Largest number of scans and segments of a JPEG; a progressive one has about ten scans, with one
or two segments each."""
MAX_SCAN_PIXELS = 1_000_000_000
"""Largest number of pixels times scans of a JPEG. A JPEG of 50 megapixels may have 20 scans: each
scan processes all pixels, even if it changes none."""


def keep_pixels(file: bytes, name: str = "picture") -> bytes:
    """Return a picture file for a decoder; of a PNG, only the chunks that produce its pixels.

    Args:
        file: A JPEG, PNG, WebP or BMP file.
        name: Name of the picture in an error.

    Raises:
        PictureError: The file has too many parts, or a part that does not end within it.
    """
    if file.startswith(PNG):
        return _keep_chunks(file, name)
    if file.startswith(JPEG):
        _check_scans(file)
    return file


def _keep_chunks(png: bytes, name: str) -> bytes:
    parts, at = [(0, len(PNG))], len(PNG)
    for count in range(1, MAX_CHUNKS + 1):
        kind, end = png[at + 4 : at + 8], at + 12 + int.from_bytes(png[at : at + 4], "big")
        if end > len(png):
            raise PictureError(
                f"encoded_image: damaged {name}: wanted chunks that end within the file, "
                f"got one that ends {end - len(png)} bytes behind it"
            )
        if kind in DRAWN:
            parts.append((at, end))
        if kind == b"IEND":
            is_whole = len(parts) == count + 1
            return png if is_whole else b"".join(png[begin:end] for begin, end in parts)
        at = end
    raise PictureError(f"encoded_image: wanted a PNG of up to {MAX_CHUNKS} chunks, got more")


def _check_scans(jpeg: bytes) -> None:
    """Read the segments up to the end of the picture; usually its first scan holds all of it."""
    components, pixels, scans = b"", 0, 0
    for marker, at in _segments(jpeg):
        if marker in SEQUENTIAL:
            components = jpeg[at + 7 : at + 8]
        if marker in FRAMES:
            height, width = jpeg[at + 3 : at + 5], jpeg[at + 5 : at + 7]
            pixels = int.from_bytes(height, "big") * int.from_bytes(width, "big")
        if marker == START_OF_SCAN:
            scans += 1
            if scans == 1 and jpeg[at + 2 : at + 3] == components:
                return
        max_scans = min(MAX_SCANS, MAX_SCAN_PIXELS // max(1, pixels))
        if scans > max_scans:
            raise PictureError(f"encoded_image: wanted a JPEG of up to {max_scans} scans, got more")


def _segments(jpeg: bytes) -> Iterator[tuple[int, int]]:
    """Yield markers up to the end of the picture, and the position after each."""
    at = 2
    for _ in range(MAX_SEGMENTS):
        match = MARKER.search(jpeg, at)
        if match is None or match[1][0] == END_OF_IMAGE:
            return
        marker, at = match[1][0], match.end()
        yield marker, at
        if marker not in ALONE:
            at += max(2, int.from_bytes(jpeg[at : at + 2], "big"))
    raise PictureError(f"encoded_image: wanted a JPEG of up to {MAX_SEGMENTS} segments, got more")
