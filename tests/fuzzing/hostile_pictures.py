"""Hostile picture files. They are generated; the project keeps none."""

import io
import struct
import zlib
from collections.abc import Callable

from PIL import Image

from tests.fuzzing.file_parts import (
    PNG,
    RGBA,
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
from tests.fuzzing.hostile_bombs import bombs
from tests.fuzzing.hostile_metadata import metadata

APNG_FRAME = struct.pack(">IIIIIHHBB", 0, 8, 8, 0, 0, 1, 10, 0, 0)


def wholes() -> Files:
    """Valid pictures, of every kind that a camera or a program writes."""
    modes = {
        "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"), "BMP": ("1", "L", "RGB", "RGBA"),
        "JPEG": ("L", "RGB", "CMYK", "YCbCr"), "WEBP": ("RGB", "RGBA"),
    }  # fmt: skip
    files = {f"{kind} {mode}": encode(kind, mode) for kind in modes for mode in modes[kind]}
    sixteen_bits = chunk(b"IDAT", zlib.compress(bytes(17)))
    return files | {
        "JPEG progressive": noise("JPEG", progressive=True),
        "JPEG 4:4:4": noise("JPEG", subsampling=0),
        "WEBP lossless": noise("WEBP", lossless=True),
        "PNG noise": noise("PNG"),
        "PNG 16-bit RGBA": PNG + ihdr(2, 1, 16, RGBA) + sixteen_bits + chunk(b"IEND"),
        "BMP from the top": bmp(2, -2, data=bytes(16)),
    }  # fmt: skip


def truncated() -> Files:
    """Truncated files: cut at each of the first bytes, and at some later ones."""
    sources = {kind: noise(kind) for kind in ("PNG", "BMP", "WEBP", "JPEG")}
    sources["JPEG progressive"] = noise("JPEG", progressive=True)
    return {
        f"{name} of {size} bytes": file[:size]
        for name, file in sources.items()
        for size in (*range(0, 64, 3), *range(64, len(file), max(1, len(file) // 20)))
    }


def damaged() -> Files:
    """Files in which every seventh byte is inverted from some place on."""
    files = {}
    for kind in ("PNG", "BMP", "WEBP", "JPEG"):
        for begin in (0, 12, 30, 60, 150):
            file = bytearray(noise(kind))
            file[begin::7] = bytes(byte ^ 0xFF for byte in file[begin::7])
            files[f"{kind} damaged from {begin}"] = bytes(file)
    return files


def lines() -> Files:
    """Pictures of one row or one column, with the greatest length of their format."""
    longest = {"PNG": 100_000, "BMP": 100_000, "JPEG": 65_500, "WEBP": 16_000}
    wide = {f"{kind} wide": encode(kind, size_wh=(side, 1)) for kind, side in longest.items()}
    high = {f"{kind} high": encode(kind, size_wh=(1, side)) for kind, side in longest.items()}
    return wide | high


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("black", "white", "red")]
    file = io.BytesIO()
    frames[0].save(file, kind, save_all=True, append_images=frames[1:])
    return file.getvalue()


def animations() -> Files:
    """Animations, and files that only claim to be animations."""
    files = {f"animated {kind}": animated(kind) for kind in ("GIF", "WEBP", "PNG")}
    single_count, five_count = (chunk(b"acTL", struct.pack(">II", count, 0)) for count in (1, 5))
    frame, beyond = chunk(b"fcTL", APNG_FRAME), bytearray(APNG_FRAME)
    beyond[4:12] = struct.pack(">II", 5000, 5000)
    still, moves = (b"VP8X", canvas(8, 8)), ((b"ANIM", bytes(6)), (b"ANMF", bytes(16)))
    later = chunk(b"fdAT", struct.pack(">I", 1) + pixels(8, 8))
    return files | {
        "APNG of one frame": png(single_count, frame),
        "APNG that begins with none": png(chunk(b"acTL", bytes(8)), frame),
        "APNG of two numbers": png(single_count, five_count, frame),
        "APNG told after its pixels": png(single_count, frame, after=five_count + frame + later),
        "APNG whose frame is larger": png(single_count, chunk(b"fcTL", bytes(beyond)), after=later),
        "APNG without its head": png(frame, after=frame + later),
        "APNG cut in its head": png(chunk(b"acTL", b"\0"), chunk(b"fcTL", b"\0")),
        "WEBP that says it moves": riff((b"VP8X", canvas(8, 8, 2)), *moves),
        "WEBP that moves unsaid": riff(still, *moves),
    }  # fmt: skip


def polyglots() -> Files:
    """Polyglots: pictures that are also other files, and other files that begin like pictures."""
    jpeg, whole = noise("JPEG"), noise("PNG")
    behind = {"ZIP": b"PK\x05\x06" + bytes(18), "HTML": b"<script>alert(1)</script>", "PNG": whole,
              "PDF": b"%PDF-1.7\n%%EOF", "JPEG": jpeg, "video": bytes(range(256)) * 99}  # fmt: skip
    files = {f"JPEG before {name}": jpeg + more for name, more in behind.items()}
    files |= {f"PNG before {name}": whole + more for name, more in behind.items()}
    names = {"JPEG": b"\xff\xd8\xff", "PNG": PNG, "WEBP": b"RIFF\x04\0\0\0WEBP", "BMP": b"BM"}
    bodies = {**behind, "nothing": b"", "zeros": bytes(99), "ones": b"\xff" * 9999}
    return files | {
        f"{name} in name, {what} within": magic + body
        for name, magic in names.items()
        for what, body in bodies.items()
    }


def rubbish() -> Files:
    """Return files that are not pictures."""
    others = {"GIF": encode("GIF", "P"), "TIFF": encode("TIFF"), "ICO": encode("ICO"),
              "PPM": encode("PPM"), "BMP of one colour": encode("BMP", "P"), "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
              "EXR": b"v/1\x01" + bytes(99), "HDR": b"#?RADIANCE\n", "AVIF": b"\0\0\0 ftypavif",
              "Sun raster": b"\x59\xa6\x6a\x95" + bytes(99), "text": b"no picture", "nothing": b"",
              "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n"}  # fmt: skip
    return others | {f"the byte {byte}": bytes([byte]) for byte in (0, 0x42, 0x52, 0x89, 0xFF)}


KINDS: tuple[Callable[[], Files], ...] = (
    wholes, truncated, damaged, lines, bombs, animations, metadata, polyglots, rubbish
)  # fmt: skip


def pictures() -> Files:
    """Return the corpus by what is wrong with each file."""
    return {name: file for kind in KINDS for name, file in kind().items()}
