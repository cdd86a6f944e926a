"""Parts of picture files, for files that no library would write."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

Files = dict[str, bytes]
"""By what is wrong with each."""

PNG = b"\x89PNG\r\n\x1a\n"
RGB, RGBA, GREY, PALETTE = 2, 6, 0, 3
"""Colour types of a PNG."""


def encode(kind: str, mode: str = "RGB", size_wh: tuple[int, int] = (31, 17), **options) -> bytes:
    """Return a picture of one colour as Pillow writes it."""
    file = io.BytesIO()
    Image.new(mode, size_wh, 90).save(file, kind, **options)
    return file.getvalue()


def noise(kind: str, **options: object) -> bytes:
    """Return a picture without equal pixels."""
    rgb = np.random.default_rng(8).integers(0, 256, (24, 40, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, content: bytes = b"", *, size: int | None = None) -> bytes:
    """Return a chunk of a PNG; a given size replaces the true one."""
    stated_size = len(content) if size is None else size
    return (
        struct.pack(">I", stated_size)
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def ihdr(width: int, height: int, depth: int = 8, colour: int = RGB) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


def pixels(width: int, height: int) -> bytes:
    """Return black RGB rows as a PNG packs them."""
    return zlib.compress((b"\0" + bytes(3 * width)) * height)


def png(*before: bytes, size_wh: tuple[int, int] = (8, 8), after: bytes = b"") -> bytes:
    """Return a black PNG with chunks before and after its pixels."""
    idat = chunk(b"IDAT", pixels(*size_wh))
    return b"".join([PNG, ihdr(*size_wh), *before, idat, after, chunk(b"IEND")])


def repair(file: bytes) -> bytes:
    """Return a PNG with the checksums that its chunks should have."""
    parts, at = [file[:8]], 8
    while at + 12 <= len(file):
        size = int.from_bytes(file[at : at + 4], "big")
        body = file[at + 4 : at + 8 + size]
        parts += [file[at : at + 4], body, struct.pack(">I", zlib.crc32(body))]
        at += size + 12
    return b"".join([*parts, file[at:]])


def segment(marker: int, content: bytes, *, size: int | None = None) -> bytes:
    """Return a segment of a JPEG; a given size replaces the true one."""
    stated_size = len(content) + 2 if size is None else size
    return struct.pack(">BBH", 0xFF, marker, stated_size) + content


def behind_soi(jpeg: bytes, *segments: bytes) -> bytes:
    """Return a JPEG with additional segments at its beginning."""
    return jpeg[:2] + b"".join(segments) + jpeg[2:]


def exif(*entries: tuple[int, int, int, int], order: str = "<", following: int = 0) -> bytes:
    """Return an EXIF segment of one directory.

    Args:
        entries: Tag, type, count and value.
        order: Byte order, as `struct` writes it.
        following: Offset of the next directory; 8 is this one.
    """
    mark = b"II*\0" if order == "<" else b"MM\0*"
    table = b"".join(struct.pack(f"{order}HHII", *entry) for entry in entries)
    head = mark + struct.pack(f"{order}IH", 8, len(entries))
    return segment(0xE1, b"Exif\0\0" + head + table + struct.pack(f"{order}I", following))


def riff(*chunks: tuple[bytes, bytes], size: int | None = None) -> bytes:
    """Return a WebP file of chunks; a given size replaces the true one."""
    body = b"WEBP" + b"".join(
        kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
        for kind, content in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body) if size is None else size) + body


def canvas(width: int, height: int, flags: int = 0) -> bytes:
    """Return the content of a VP8X chunk."""
    sides = (width - 1) | (height - 1) << 24
    return struct.pack("<I", flags) + sides.to_bytes(6, "little")


def bmp(
    width: int, height: int, bits: int = 24, *, compression: int = 0, data: bytes = b""
) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54) + info + data
