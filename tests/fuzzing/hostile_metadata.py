"""Hostile metadata of pictures: EXIF, headers and segments with loops or false values."""

from tests.fuzzing.file_parts import (
    PNG,
    Files,
    behind_soi,
    canvas,
    chunk,
    encode,
    exif,
    ihdr,
    noise,
    pixels,
    png,
    riff,
    segment,
)

ORIENTATION, THUMBNAIL, SUB_DIRECTORY = 0x0112, 0x0201, 0x8769
SHORT, LONG = 3, 4
EXIF = {
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
}
MARKER, MARKER_AND_NAME = 4, 10
"""Bytes of an EXIF segment that WebP does not have, and PNG."""


def exif_files() -> Files:
    jpeg, frame = noise("JPEG"), encode("WEBP", size_wh=(8, 8))[20:]
    head = (b"VP8X", canvas(8, 8, 8))
    files: Files = {}
    for name, block in EXIF.items():
        files[f"JPEG, EXIF {name}"] = behind_soi(jpeg, block)
        files[f"PNG, EXIF {name}"] = png(chunk(b"eXIf", block[MARKER_AND_NAME:]))
        files[f"WEBP, EXIF {name}"] = riff(head, (b"VP8 ", frame), (b"EXIF", block[MARKER:]))
    return files


def segments() -> Files:
    jpeg = noise("JPEG")
    return {
        "JPEG of a segment without size": behind_soi(jpeg, segment(0xE1, b"", size=0)),
        "JPEG of a segment past its end": behind_soi(jpeg, segment(0xE1, b"", size=65_535)),
        "JPEG of 5000 comments": behind_soi(jpeg, *[segment(0xFE, b"")] * 5000),
        "JPEG of 90 long comments": behind_soi(jpeg, *[segment(0xFE, b"x" * 60_000)] * 90),
        "JPEG of fill bytes": jpeg[:2] + b"\xff" * 100_000 + jpeg[2:],
    }


def heads() -> Files:
    rows = chunk(b"IDAT", pixels(8, 8)) + chunk(b"IEND")
    return {
        "PNG palette without colours": PNG + ihdr(8, 8, 8, 3) + chunk(b"PLTE") + rows,
        "PNG palette of 257": PNG + ihdr(8, 8, 8, 3) + chunk(b"PLTE", bytes(771)) + rows,
        "PNG of depth 3": PNG + ihdr(8, 8, 3) + rows,
        "PNG of colour 7": PNG + ihdr(8, 8, 8, 7) + rows,
        "PNG whose head is short": PNG + chunk(b"IHDR", bytes(4)) + chunk(b"IDAT"),
    }


def metadata() -> Files:
    """Return all of it by its name."""
    return exif_files() | segments() | heads()
