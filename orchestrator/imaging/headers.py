"""Reads the properties of a picture from its file's header alone.

The parsers of decoders are not made for hostile files. Pillow inflates up to 64 MiB of text chunks.
It also reads millions of empty chunks, which takes 0.15 s for each megabyte of the file. The steps
here are bounded, and unpack nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from orchestrator.errors import PictureError
from orchestrator.imaging.foreign_formats import describe
from orchestrator.imaging.orientation import ON_ITS_SIDE, UPRIGHT, orientation_of
from orchestrator.imaging.segments import END_OF_JPEG, FRAMES, JPEG, MAX_SCANS, PNG, SEQUENTIAL

MAX_PARTS = 1000
"""Largest number of JPEG segments or PNG chunks before the pixels; cameras write about 20."""
ALONE = {0x01, *range(0xD0, 0xD9)}
"""JPEG markers without a segment: TEM, RST0 to RST7, SOI."""
START_OF_SCAN, END_OF_IMAGE = 0xDA, 0xD9
EXIF = 0xE1
"""Marker of the segment with EXIF data, APP1; that with XMP has the same."""
EXIF_NAME = b"Exif\0\0"
"""First bytes of a segment with EXIF data."""
MARKER = re.compile(rb"\xff([^\x00\xff])")
MAX_FILL = 1024
"""Largest number of bytes between two segments of a JPEG."""
ANIMATION = 0x02
"""Flag for an animation in a WebP file's VP8X chunk."""
RIFF_HEAD = 12
"""Bytes of a WebP file before its first chunk."""
OLD_BMP = 12
"""Size of the header of an OS/2 BMP file, which stores each side in two bytes."""

MAX_COMPONENTS = 4
"""Largest number of components of a JPEG that a decoder accepts."""
COEFFICIENT_BYTES = 2
BITS = 8
"""Bits of a sample of a JPEG that OpenCV takes."""
MAX_SIDE = 1 << 20
"""Longest side of a file that OpenCV takes, in pixels."""
MIN_PIXELS_PER_S = 40e6
"""Smallest number of pixels that one pass processes in a second. On a free core, 150 million were
measured."""
JPEG_SPEED, PNG_SPEED, WEBP_SPEED = 150e6, 70e6, 60e6
"""Pixels that a free core unpacks in a second: the slowest pictures of each format that were tried,
flat and noisy ones. A flat PNG of 49 megapixels is a file of 155 KB and takes 0.7 s."""


@dataclass(frozen=True)
class Header:
    """The properties of a picture file.

    Attributes:
        width: Pixels, before EXIF orientation.
        height: Pixels.
        is_animated: It holds several pictures, to be shown one after the other.
        scans: Most times that its decoder processes all pixels. It is more than one for a JPEG that
            is progressive, or whose components come one after the other.
        kept_bytes: Memory for each pixel that the decoder keeps between such scans.
        speed: Pixels that a free core unpacks in a second, in one pass.
        is_one_scan: It is a JPEG whose first scan holds the whole picture, so its scans need no
            further check.
        orientation: EXIF orientation, 1 to 8; 1 if the file tells none.
        is_cut: A JPEG whose end is missing: a broken transfer, or a camera that writes none.
    """

    width: int
    height: int
    is_animated: bool = False
    scans: int = 1
    kept_bytes: int = 0
    speed: float = JPEG_SPEED
    is_one_scan: bool = field(default=False, compare=False)
    orientation: int = field(default=UPRIGHT, compare=False)
    is_cut: bool = field(default=False, compare=False)

    @property
    def upright_wh(self) -> tuple[int, int]:
        """Width and height of the picture as it is decoded: EXIF orientation applied."""
        wh = (self.width, self.height)
        return wh[::-1] if self.orientation in ON_ITS_SIDE else wh

    @property
    def decoding_s(self) -> float:
        """Seconds of a free core that unpacking takes.

        Measured: a progressive JPEG of ten scans takes 1.3 s, one of a single scan 0.3 s.
        """
        return self.width * self.height * max(1.0, self.scans / 2) / self.speed

    @property
    def unpacking_s(self) -> float:
        """Longest time of unpacking in seconds, on a core that other processes use, too."""
        return self.width * self.height * max(1.0, self.scans / 2) / MIN_PIXELS_PER_S


def check_file(file: bytes, max_pixels: int) -> Header:
    """Return the header of a JPEG, PNG, WebP or BMP file of one picture that is not too large.

    Args:
        file: The file's bytes.
        max_pixels: Largest width x height accepted.

    Raises:
        PictureError: It is not such a file. This function does not check that its pixels are
            complete.
    """
    readers = (reader for signature, reader in READERS.items() if file.startswith(signature))
    reader = next(readers, None)
    header = reader(file) if reader else None
    if header is None:
        raise PictureError(
            f"encoded_image: wanted a JPEG, PNG, WebP or BMP file, got {describe(file)}"
        )
    if header.is_animated:
        raise PictureError(
            "encoded_image: wanted one picture, got an animation; export its first frame"
        )
    check_pixels(header.width, header.height, max_pixels)
    if max(header.width, header.height) > MAX_SIDE:
        raise PictureError(
            f"picture size: wanted sides of up to {MAX_SIDE} pixels in a file, "
            f"got {header.width}x{header.height} pixels"
        )
    return header


def check_pixels(width: int, height: int, max_pixels: int) -> None:
    """Reject a picture that has no pixels, or too many.

    Raises:
        PictureError: It has.
    """
    if width < 1 or height < 1 or width * height > max_pixels:
        raise PictureError(
            f"picture size: wanted 1 to {max_pixels} pixels, got {width}x{height} pixels"
        )


def find_segment(jpeg: bytes, kind: int) -> int:
    """Return the position behind a JPEG's first marker of a kind, before its pixels; 0 for none."""
    for marker, at in _segments(jpeg):
        if marker in (kind, START_OF_SCAN):
            return at if marker == kind else 0
    return 0


def _read_jpeg(file: bytes) -> Header | None:
    """Return the header from the first frame. If it may have several scans, their bytes count.

    Pixels never look like the start of a scan; other segments seldom do.
    """
    frame, orientation, is_sequential, is_one_scan, is_cut = 0, 0, False, False, False
    for marker, at in _segments(file):
        if marker == START_OF_SCAN:
            is_cut = file.rfind(END_OF_JPEG, at) < 0
            is_one_scan = is_sequential and file[at + 2 : at + 3] == file[frame + 7 : frame + 8]
            break
        if marker in FRAMES:
            frame, is_sequential = frame or at, not frame and marker in SEQUENTIAL
            bits = int.from_bytes(file[at + 2 : at + 3], "big")
            if bits > BITS:
                raise PictureError(
                    f"encoded_image: wanted a JPEG of {BITS} bits, got one of {bits}; convert it "
                    "to PNG"
                )
        if not orientation and marker == EXIF and file.startswith(EXIF_NAME, at + 2):
            end = at + int.from_bytes(file[at : at + 2], "big")
            orientation = orientation_of(file[at + 2 + len(EXIF_NAME) : end])
    if not frame:
        return None
    scans, kept_bytes = (1, 0) if is_one_scan else _count_scans(file, frame)
    return Header(
        width=int.from_bytes(file[frame + 5 : frame + 7], "big"),
        height=int.from_bytes(file[frame + 3 : frame + 5], "big"),
        scans=scans,
        kept_bytes=kept_bytes,
        is_one_scan=is_one_scan,
        orientation=orientation or UPRIGHT,
        is_cut=is_cut,
    )


def _count_scans(jpeg: bytes, frame: int) -> tuple[int, int]:
    """Return the most scans of a JPEG, and the memory for each pixel between them."""
    components = int.from_bytes(jpeg[frame + 7 : frame + 8], "big")
    scans = min(max(1, jpeg.count(b"\xff\xda", frame)), MAX_SCANS)
    return scans, COEFFICIENT_BYTES * min(components, MAX_COMPONENTS)


def _segments(jpeg: bytes) -> Iterator[tuple[int, int]]:
    """Yield markers, and the position after each, in the order in which libjpeg reads them."""
    at = 2
    for _ in range(MAX_PARTS):
        match = MARKER.search(jpeg, at, at + MAX_FILL)
        if match is None or match[1][0] == END_OF_IMAGE:
            return
        marker, at = match[1][0], match.end()
        yield marker, at
        if marker not in ALONE:
            size = int.from_bytes(jpeg[at : at + 2], "big")
            if size < 2:
                return
            at += size


def _read_png(file: bytes) -> Header | None:
    """Read the chunks up to the pixels: a chunk `acTL` makes the file an animation."""
    if file[12:16] != b"IHDR":
        return None
    width, height = _unpack(">II", file, 16)
    at, exif = len(PNG), 0
    for _ in range(MAX_PARTS):
        size, kind = int.from_bytes(file[at : at + 4], "big"), file[at + 4 : at + 8]
        frames = int.from_bytes(file[at + 8 : at + 12], "big") if kind == b"acTL" else 1
        if kind == b"IDAT" or frames > 1:
            orientation = orientation_of(_exif_of_png(file, exif or at))
            is_animated = frames > 1
            return Header(width, height, is_animated, speed=PNG_SPEED, orientation=orientation)
        if kind == b"eXIf" and not exif:
            exif = at
        at += size + 12
        if at >= len(file):
            return None
    return None


def _exif_of_png(png: bytes, at: int) -> bytes:
    """Return the EXIF data in the chunks from a position on, which may follow the pixels."""
    for _ in range(MAX_PARTS):
        size, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        if kind == b"eXIf":
            return png[at + 8 : at + 8 + size]
        at += size + 12
        if at >= len(png):
            break
    return b""


def _read_webp(file: bytes) -> Header | None:
    kind = file[12:16] if file[8:12] == b"WEBP" else b""
    if kind == b"VP8X":
        flags, low, high = _unpack("<IIH", file, 20)
        both = low | high << 32  # sides of three bytes, stored minus one
        width, height = (both & 0xFFFFFF) + 1, (both >> 24) + 1
        is_animated = bool(flags & ANIMATION)
        orientation = orientation_of(_exif_of_webp(file))
        return Header(width, height, is_animated, speed=WEBP_SPEED, orientation=orientation)
    if kind == b"VP8L":
        (bits,) = _unpack("<I", file, 21)
        return Header((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, speed=WEBP_SPEED)
    if kind == b"VP8 ":
        width, height = _unpack("<HH", file, 26)
        return Header(width & 0x3FFF, height & 0x3FFF, speed=WEBP_SPEED)
    return None


def _exif_of_webp(file: bytes) -> bytes:
    """Return the EXIF data, whose chunk follows the pixels; empty when there is none."""
    at = RIFF_HEAD
    for _ in range(MAX_PARTS):
        kind, size = file[at : at + 4], int.from_bytes(file[at + 4 : at + 8], "little")
        if kind == b"EXIF":
            exif = file[at + 8 : at + 8 + size]
            return exif.removeprefix(EXIF_NAME)  # some programs write the name
        at += 8 + size + size % 2
        if at >= len(file):
            break
    return b""


def _read_bmp(file: bytes) -> Header | None:
    (size,) = _unpack("<I", file, 14)
    width, height = _unpack("<HH" if size == OLD_BMP else "<ii", file, 18)
    return Header(width, abs(height))  # negative: the rows start at the top


READERS: dict[bytes, Callable[[bytes], Header | None]] = {
    JPEG: _read_jpeg,
    PNG: _read_png,
    b"RIFF": _read_webp,
    b"BM": _read_bmp,
}
"""Functions that read a header, by the signatures of the files."""


def _unpack(layout: str, file: bytes, at: int) -> tuple[int, ...]:
    """Return whole numbers from the file; zeros when the file is too short."""
    size = struct.calcsize(layout)
    return struct.unpack(layout, file[at : at + size].ljust(size, b"\0"))
