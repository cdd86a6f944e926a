"""The canary: a picture that the service reads from time to time, and its expected text.

It belongs to the weights: `canary.jpg` and `canary.txt` lie beside them. In a repository they lie
beside the code of `plate_recognition`.
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
    """A picture with one plate that the service reads for certain.

    Attributes:
        file: The bytes of the picture file.
        text: The plate's text; empty for a picture without a plate, for which any answer is right.
    """

    file: bytes
    text: str


def read_canary(folder: Path | None) -> CanaryPicture:
    """Read the canary of a folder; without a folder, return a grey picture without a plate."""
    if folder is None or not has_canary(folder):
        return CanaryPicture(_draw_grey(), "")
    text = (folder / TEXT_FILE).read_text(encoding="utf-8").strip()
    return CanaryPicture((folder / PICTURE_FILE).read_bytes(), text)


def save_canary(folder: Path, canary: CanaryPicture) -> None:
    """Write a canary into a folder of weights."""
    (folder / PICTURE_FILE).write_bytes(canary.file)
    (folder / TEXT_FILE).write_text(f"{canary.text}\n", encoding="utf-8")


def has_canary(folder: Path) -> bool:
    """Tell whether a folder has a canary picture and its text."""
    return all((folder / name).is_file() for name in CANARY_FILES)


def _draw_grey() -> bytes:
    """Return a grey picture as a BMP file of 24 bits a pixel."""
    pixels = bytes([GREY]) * (3 * SIDE_PX * SIDE_PX)
    head = struct.pack("<IiiHHIIiiII", 40, SIDE_PX, SIDE_PX, 1, 24, 0, len(pixels), 0, 0, 0, 0)
    start = 14 + len(head)
    return struct.pack("<2sIHHI", b"BM", start + len(pixels), 0, 0, start) + head + pixels
