"""The picture that the service is asked with now and then, and what it must read there.

It belongs to the weights that read it: `canary.jpg` and `canary.txt` lie beside them, and in a
repository beside the code of `plate_recognition`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

PICTURE_FILE, TEXT_FILE = "canary.jpg", "canary.txt"
CANARY_FILES = (PICTURE_FILE, TEXT_FILE)
GREY, SIDE_PX = 128, 64


@dataclass(frozen=True)
class CanaryPicture:
    """A picture with one plate that can be read for certain.

    Attributes:
        file: The bytes of the picture file.
        text: What the plate says; empty where there is none, and any answer will do.
    """

    file: bytes
    text: str


def read_canary(folder: Path | None) -> CanaryPicture:
    """Read a folder's canary; without one, a grey picture without a plate."""
    if folder is None or not has_canary(folder):
        return CanaryPicture(_draw_grey(), "")
    text = (folder / TEXT_FILE).read_text(encoding="utf-8").strip()
    return CanaryPicture((folder / PICTURE_FILE).read_bytes(), text)


def save_canary(folder: Path, canary: CanaryPicture) -> None:
    """Write a canary into a folder of weights."""
    (folder / PICTURE_FILE).write_bytes(canary.file)
    (folder / TEXT_FILE).write_text(f"{canary.text}\n", encoding="utf-8")


def has_canary(folder: Path) -> bool:
    """Tell whether a folder has a picture and its text."""
    return all((folder / name).is_file() for name in CANARY_FILES)


def _draw_grey() -> bytes:
    """Return a grey picture as a BMP file of 24 bits a pixel."""
    pixels = bytes([GREY]) * (3 * SIDE_PX * SIDE_PX)
    head = struct.pack("<IiiHHIIiiII", 40, SIDE_PX, SIDE_PX, 1, 24, 0, len(pixels), 0, 0, 0, 0)
    start = 14 + len(head)
    return struct.pack("<2sIHHI", b"BM", start + len(pixels), 0, 0, start) + head + pixels
