"""Decompression bombs: small files that are, or claim to be, very large or slow to decode."""

import struct
import zlib
from functools import cache

from tests.fuzzing.file_parts import (
    GREY,
    PNG,
    Files,
    bmp,
    canvas,
    chunk,
    encode,
    ihdr,
    noise,
    pixels,
    png,
    riff,
)

HUGE = 2**31 - 1
SCANS = 3000
"""Number of scans of a JPEG. Each has 14 bytes, and makes a decoder visit all pixels."""
TIMES = 90
"""Number of repetitions of a part that is cheap once."""
RUNS = b"\xff\x01\0\2\xff\xff" * 50
"""Compressed rows of a BMP: 255 pixels of one colour, then a step of 255 right and 255 up."""


def unpacked(size: int) -> bytes:
    """Return a PNG with a number of bytes of pixels, whatever its header says."""
    return chunk(b"IDAT", zlib.compress(bytes(size))) + chunk(b"IEND")


def png_bombs() -> Files:
    text = zlib.compress(bytes(7_900_000), 9)
    return {
        "PNG that says 2^31": PNG + ihdr(HUGE, HUGE) + chunk(b"IDAT", pixels(8, 8)),
        "PNG of 10^8 pixels": PNG + ihdr(10_000, 10_000, 1, GREY) + unpacked(12_510_000),
        "PNG with too much behind its rows": PNG + ihdr(8, 8) + unpacked(30_000_000),
        "PNG with compressed texts": png(chunk(b"zTXt", b"a\0\0" + text) * TIMES),
        "PNG with texts behind": png(after=chunk(b"iTXt", b"a\0\1\0\0\0" + text) * TIMES),
        "PNG with profiles": png(chunk(b"iCCP", b"a\0\0" + text) * TIMES),
        "PNG of half a million chunks": png(after=chunk(b"tEXt", b"a\0b") * 500_000),
        "PNG chunk of 4 GB": PNG + ihdr(8, 8) + chunk(b"IDAT", b"x", size=4_000_000_000),
        "PNG chunk of 2^32 bytes": PNG + ihdr(8, 8) + chunk(b"IDAT", b"x", size=2**32 - 1),
        "PNG text of 2 GB": PNG + ihdr(8, 8) + chunk(b"tEXt", b"x", size=2**31) + pixels(8, 8),
        "PNG of two heads": png(ihdr(9000, 9000)),
    }


def jpeg_bombs() -> Files:
    plain = noise("JPEG")
    frame = plain.index(b"\xff\xc0")
    begin, sides, rest = plain[:frame], plain[frame + 5 : frame + 9], plain[frame + 9 :]
    head = plain[frame : frame + 5]
    other = head + b"\0\1\0\1" + plain[frame + 9 : frame + 19]
    return {
        "JPEG that says 65535": begin + head + struct.pack(">HH", 65_535, 65_535) + rest,
        "JPEG of many scans": many_scans(SCANS),
        "JPEG of two frames": begin + other + head + sides + rest,
    }


def many_scans(count: int) -> bytes:
    """Return a progressive JPEG whose almost empty last scan is repeated."""
    file = encode("JPEG", "L", (600, 400), progressive=True)
    last = file.rindex(b"\xff\xda")
    return file[:-2] + file[last:-2] * count + b"\xff\xd9"


def other_bombs() -> Files:
    frame = (b"VP8 ", encode("WEBP", size_wh=(900, 900))[20:])
    eight_bits, four_bits = bytes(1024), bytes(64)
    small = b"\xff\x12\0\2\x09\x09" * 50
    return {
        "WEBP that says 2^24": riff((b"VP8X", canvas(2**24, 2**24)), (b"VP8 ", b"")),
        "WEBP canvas beside a frame": riff((b"VP8X", canvas(1, 1)), frame),
        "WEBP lossless that says 16384": riff((b"VP8L", b"\x2f" + b"\xff" * 4 + bytes(20))),
        "BMP that says 2^31": bmp(HUGE, HUGE),
        "BMP that says -2^31": bmp(8, -(2**31)),
        "BMP of run lengths": bmp(9000, 9000, 8, compression=1, data=eight_bits + RUNS),
        "BMP whose runs leave it": bmp(8, 8, 8, compression=1, data=eight_bits + RUNS),
        "BMP of 4-bit runs": bmp(8, 8, 4, compression=2, data=four_bits + small),
    }


@cache
def bombs() -> Files:
    """Return all of them by their names."""
    return png_bombs() | jpeg_bombs() | other_bombs()
