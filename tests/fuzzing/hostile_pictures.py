"""Picture files that a stranger may send, each made here: none is kept in the project."""

import io
import struct
import zlib
from collections.abc import Callable, Iterable

import numpy as np
from PIL import Image

from tests.fuzzing.picture_parts import (
    GREY,
    PNG,
    RGB,
    RGBA,
    behind_soi,
    bmp,
    canvas,
    chunk,
    exif,
    ihdr,
    pixels,
    png,
    riff,
    segment,
)

Files = dict[str, bytes]

ORIENTATION, THUMBNAIL, SUB_DIRECTORY = 0x0112, 0x0201, 0x8769
SHORT, LONG = 3, 4
HUGE = 2**31 - 1
APNG_FRAME = struct.pack(">IIIIIHHBB", 0, 8, 8, 0, 0, 1, 10, 0, 0)
SCANS = 3000
"""Each of 14 bytes makes a decoder walk through every pixel once more."""


def encoded(kind: str, mode: str = "RGB", size_wh: tuple[int, int] = (31, 17), **options) -> bytes:
    """Return a picture of one colour as Pillow writes it."""
    file = io.BytesIO()
    Image.new(mode, size_wh, 90).save(file, kind, **options)
    return file.getvalue()


def noise(kind: str, **options: object) -> bytes:
    """Return a picture of which no two pixels are alike."""
    rgb = np.random.default_rng(8).integers(0, 256, (24, 40, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, kind, **options)
    return file.getvalue()


def wholes() -> Files:
    """Pictures with nothing wrong in them, of every kind that a camera or a program writes."""
    modes = {"PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"), "BMP": ("1", "L", "P", "RGB", "RGBA"),
             "JPEG": ("L", "RGB", "CMYK", "YCbCr"), "WEBP": ("RGB", "RGBA")}  # fmt: skip
    files = {f"{kind} {mode}": encoded(kind, mode) for kind in modes for mode in modes[kind]}
    return files | {
        "JPEG progressive": noise("JPEG", progressive=True),
        "JPEG 4:4:4": noise("JPEG", subsampling=0),
        "WEBP lossless": noise("WEBP", lossless=True),
        "PNG noise": noise("PNG"),
        "PNG 16-bit RGBA": PNG + ihdr(2, 1, 16, RGBA)
        + chunk(b"IDAT", zlib.compress(bytes(17))) + chunk(b"IEND"),
        "BMP from the top": bmp(2, -2, data=bytes(16)),
    }  # fmt: skip


def truncated() -> Files:
    """Files that end early: at each of their first bytes, and here and there."""
    sources = {"PNG": noise("PNG"), "BMP": noise("BMP"), "WEBP": noise("WEBP"),
               "JPEG": noise("JPEG"), "JPEG progressive": noise("JPEG", progressive=True)}  # fmt: skip
    return {
        f"{name} of {size} bytes": file[:size]
        for name, file in sources.items()
        for size in (*range(0, 64, 3), *range(64, len(file), max(1, len(file) // 20)))
    }


def damaged() -> Files:
    """Files with one byte in seven turned round, from somewhere on."""
    files = {}
    for kind in ("PNG", "BMP", "WEBP", "JPEG"):
        for begin in (0, 12, 30, 60, 150):
            file = bytearray(noise(kind))
            file[begin::7] = bytes(byte ^ 0xFF for byte in file[begin::7])
            files[f"{kind} damaged from {begin}"] = bytes(file)
    return files


def lines() -> Files:
    """Pictures one pixel high or wide."""
    sizes = {"wide": (100_000, 1), "high": (1, 100_000)}
    made = {f"{kind} {how}": encoded(kind, "RGB", size)
            for kind in ("PNG", "BMP") for how, size in sizes.items()}  # fmt: skip
    within = {f"{kind} {how}": encoded(kind, "RGB", (size[0] and min(size[0], 16_000), min(size[1], 16_000)))
              for kind in ("JPEG", "WEBP") for how, size in sizes.items()}  # fmt: skip
    return made | within


def bombs() -> Files:
    """Small files that are, or say that they are, huge when they are unpacked."""
    text = zlib.compress(bytes(7_900_000), 9)
    first = noise("JPEG")
    frame = first.index(b"\xff\xc0")
    giant = struct.pack(">HH", 65_535, 65_535)
    return {
        "PNG that says 2^31": PNG + ihdr(HUGE, HUGE) + chunk(b"IDAT", pixels(8, 8)),
        "PNG of 10^8 pixels": PNG + ihdr(10_000, 10_000, 1, GREY)
        + chunk(b"IDAT", zlib.compress(bytes(12_510_000))) + chunk(b"IEND"),
        "PNG with too much behind its rows": PNG + ihdr(8, 8, 8, RGB)
        + chunk(b"IDAT", zlib.compress(bytes(30_000_000))) + chunk(b"IEND"),
        "PNG with compressed texts": png(chunk(b"zTXt", b"a\0\0" + text) * 90),
        "PNG with compressed texts behind": png(after=chunk(b"iTXt", b"a\0\1\0\0\0" + text) * 90),
        "PNG with profiles": png(chunk(b"iCCP", b"a\0\0" + text) * 90),
        "PNG with a million chunks": png(after=chunk(b"tEXt", b"a\0b") * 500_000),
        "JPEG that says 65535": first[: frame + 5] + giant + first[frame + 9 :],
        "JPEG of many scans": many_scans(SCANS),
        "JPEG of two frames": first[:frame] + first[frame : frame + 5] + b"\0\1\0\1"
        + first[frame + 9 : frame + 19] + first[frame:],
        "WEBP that says 2^24": riff((b"VP8X", canvas(2**24, 2**24)), (b"VP8 ", b"")),
        "WEBP canvas beside a frame": riff((b"VP8X", canvas(1, 1)), (b"VP8 ", encoded("WEBP", size_wh=(900, 900))[20:])),
        "WEBP lossless that says 16384": riff((b"VP8L", b"\x2f" + b"\xff" * 4 + bytes(20))),
        "BMP that says 2^31": bmp(HUGE, HUGE),
        "BMP that says -2^31": bmp(8, -(2**31)),
        "BMP of run lengths": bmp(9000, 9000, 8, compression=1, data=bytes(1024) + b"\xff\x01" * 50),
        "BMP whose runs leave it": bmp(8, 8, 8, compression=1, data=bytes(1024) + b"\xff\x01\0\2\xff\xff" * 50),
        "BMP of 4-bit runs": bmp(8, 8, 4, compression=2, data=bytes(64) + b"\xff\x12\0\2\x09\x09" * 50),
    }  # fmt: skip


def many_scans(count: int) -> bytes:
    """Return a progressive JPEG whose last scan, which says next to nothing, comes again."""
    file = encoded("JPEG", "L", (600, 400), progressive=True)
    last = file.rindex(b"\xff\xda")
    return file[:-2] + file[last:-2] * count + b"\xff\xd9"


def animations() -> Files:
    """Several pictures in one file, and files that only say so."""
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("black", "white", "red")]
    files = {}
    for kind in ("GIF", "WEBP", "PNG"):
        file = io.BytesIO()
        frames[0].save(file, kind, save_all=True, append_images=frames[1:])
        files[f"animated {kind}"] = file.getvalue()
    one, five = (chunk(b"acTL", struct.pack(">II", count, 0)) for count in (1, 5))
    frame, beyond = chunk(b"fcTL", APNG_FRAME), bytearray(APNG_FRAME)
    beyond[4:12] = struct.pack(">II", 5000, 5000)
    later = chunk(b"fdAT", struct.pack(">I", 1) + pixels(8, 8))
    return files | {
        "APNG of one frame": png(one, frame),
        "APNG that begins with none": png(chunk(b"acTL", bytes(8)), frame),
        "APNG of two numbers": png(one, five, frame),
        "APNG told after its pixels": png(one, frame, after=five + frame + later),
        "APNG whose frame is larger": png(one, chunk(b"fcTL", bytes(beyond)), after=later),
        "APNG without its head": png(frame, after=frame + later),
        "APNG cut in its head": png(chunk(b"acTL", b"\0"), chunk(b"fcTL", b"\0")),
        "WEBP that says it moves": riff((b"VP8X", canvas(8, 8, 2)), (b"ANIM", bytes(6))),
        "WEBP that moves unsaid": riff((b"VP8X", canvas(8, 8)), (b"ANIM", bytes(6)), (b"ANMF", bytes(16))),
    }  # fmt: skip


def metadata() -> Files:
    """EXIF that loops, lies or leaves its segment, in JPEG, PNG and WebP."""
    blocks = {
        "next directory is itself": exif((ORIENTATION, SHORT, 1, 6), following=8),
        "sub-directory is itself": exif((SUB_DIRECTORY, LONG, 1, 8)),
        "orientation 0": exif((ORIENTATION, SHORT, 1, 0)),
        "orientation 9": exif((ORIENTATION, SHORT, 1, 9)),
        "orientation 65535": exif((ORIENTATION, SHORT, 1, 65_535)),
        "orientation as long": exif((ORIENTATION, LONG, 2**32 - 1, 6)),
        "orientation of type 0": exif((ORIENTATION, 0, 1, 6)),
        "big-endian orientation": exif((ORIENTATION, SHORT, 1, 6 << 16), order=">"),
        "thumbnail beyond the end": exif((THUMBNAIL, LONG, 1, 2**32 - 1)),
        "text of 4 GiB": exif((0x010E, 2, 2**32 - 1, 20)),
        "rationals before the file": exif((0x011A, 5, 1, 2**32 - 8)),
        "directory beyond the end": segment(0xE1, b"Exif\0\0II*\0" + b"\xff" * 4),
        "65535 entries": segment(0xE1, b"Exif\0\0II*\0\x08\0\0\0\xff\xff"),
        "cut in its mark": segment(0xE1, b"Exif\0\0II"),
        "nothing but its name": segment(0xE1, b"Exif\0\0"),
    }  # fmt: skip
    jpeg, webp = noise("JPEG"), encoded("WEBP", size_wh=(8, 8))[12:]
    files = {f"JPEG, EXIF {name}": behind_soi(jpeg, block) for name, block in blocks.items()}
    files |= {f"PNG, EXIF {name}": png(chunk(b"eXIf", block[10:])) for name, block in blocks.items()}
    plain = (webp[:4], webp[8:])
    files |= {
        f"WEBP, EXIF {name}": riff((b"VP8X", canvas(8, 8, 8)), plain, (b"EXIF", block[4:]))
        for name, block in blocks.items()
    }
    return files | {
        "JPEG of a segment without size": behind_soi(jpeg, segment(0xE1, b"", size=0)),
        "JPEG of a segment past its end": behind_soi(jpeg, segment(0xE1, b"", size=65_535)),
        "JPEG of 5000 comments": behind_soi(jpeg, *[segment(0xFE, b"")] * 5000),
        "JPEG of 900 comments": behind_soi(jpeg, *[segment(0xFE, b"x" * 60_000)] * 90),
        "JPEG of fill bytes": jpeg[:2] + b"\xff" * 100_000 + jpeg[2:],
        "PNG chunk of 4 GiB": PNG + ihdr(8, 8) + chunk(b"IDAT", b"x", size=2**32 - 1),
        "PNG chunk of 2 GiB": PNG + ihdr(8, 8) + chunk(b"tEXt", b"x", size=2**31) + pixels(8, 8),
        "PNG palette without colours": PNG + ihdr(8, 8, 8, 3) + chunk(b"PLTE") + chunk(b"IDAT", pixels(8, 8)),
        "PNG palette of 257": PNG + ihdr(8, 8, 8, 3) + chunk(b"PLTE", bytes(771)) + chunk(b"IDAT", pixels(8, 8)),
        "PNG of depth 3": PNG + ihdr(8, 8, 3) + chunk(b"IDAT", pixels(8, 8)) + chunk(b"IEND"),
        "PNG of colour 7": PNG + ihdr(8, 8, 8, 7) + chunk(b"IDAT", pixels(8, 8)) + chunk(b"IEND"),
        "PNG of two heads": png(ihdr(9000, 9000)),
        "PNG whose head is short": PNG + chunk(b"IHDR", bytes(4), size=4) + chunk(b"IDAT", b""),
    }  # fmt: skip


def polyglots() -> Files:
    """Files that are something else, too, and something else that begins like a picture."""
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
    """What is no picture at all."""
    others = {"GIF": encoded("GIF", "P"), "TIFF": encoded("TIFF"), "ICO": encoded("ICO"),
              "PPM": encoded("PPM"), "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
              "EXR": b"v/1\x01" + bytes(99), "HDR": b"#?RADIANCE\n", "AVIF": b"\0\0\0 ftypavif",
              "Sun raster": b"\x59\xa6\x6a\x95" + bytes(99), "text": b"no picture", "nothing": b"",
              "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n"}  # fmt: skip
    return others | {f"the byte {byte}": bytes([byte]) for byte in (0, 0x42, 0x52, 0x89, 0xFF)}


KINDS: tuple[Callable[[], Files], ...] = (
    wholes, truncated, damaged, lines, bombs, animations, metadata, polyglots, rubbish
)  # fmt: skip


def pictures(kinds: Iterable[Callable[[], Files]] = KINDS) -> Files:
    """Return the corpus by what is wrong with each file."""
    return {name: file for kind in kinds for name, file in kind().items()}
