"""Label files in YOLO format: `labels/SPLIT/a.txt` of `images/SPLIT/a.jpg`, one line per plate.

A line is `class x y width height`: the box's centre and size as parts of the picture's size. The
class is not checked, because plates are the only class here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from orchestrator.errors import DataError

Box = tuple[float, float, float, float]
"""A box x0, y0, x1, y1 in pixels, unless its name says otherwise."""


def label_folder(images: Path) -> Path:
    """Return `.../labels/train` of `.../images/train`."""
    return images.parents[1] / "labels" / images.name


def label_file(picture: Path) -> Path:
    """Return `.../labels/train/a.txt` of `.../images/train/a.jpg`."""
    return label_folder(picture.parent) / f"{picture.stem}.txt"


def read_labels(path: Path) -> tuple[Box, ...]:
    """Read a label file. Equal lines count as one plate; without a file there are no plates.

    Returns:
        The boxes as in the file: x, y, width, height, as parts of the picture's size.

    Raises:
        DataError: The file cannot be read, or a line is not a box; the message names the line.
    """
    if not path.is_file():
        return ()
    try:
        lines = enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: wanted UTF-8 text, got other bytes") from error
    boxes = [_parse(f"{path}:{number}", line) for number, line in lines if line.strip()]
    return tuple(dict.fromkeys(boxes))


def _parse(where: str, line: str) -> Box:
    try:
        _, x, y, w, h = (float(value) for value in line.split())
    except ValueError:
        raise DataError(f"{where}: wanted class, x, y, width, height, got {line!r}") from None
    if not all(0 <= side <= 1 for side in (x, y, w, h)) or not w * h:
        raise DataError(f"{where}: wanted parts of the picture's size, 0 to 1, got {line!r}")
    return x, y, w, h


def to_pixels(relative: Box, size_wh: tuple[int, int]) -> Box:
    """Return the box of a label in xyxy pixels, for a picture of this size."""
    (x, y, w, h), (wide, high) = relative, size_wh
    return ((x - w / 2) * wide, (y - h / 2) * high, (x + w / 2) * wide, (y + h / 2) * high)


def write_labels(path: Path, boxes: Iterable[Iterable[float]], size_wh: tuple[int, int]) -> None:
    """Write a label file from boxes in xyxy pixels of a picture of this size."""
    text = "".join(_line(*box, size_wh=size_wh) for box in boxes)
    path.write_text(text, encoding="utf-8")


def _line(x0: float, y0: float, x1: float, y1: float, *, size_wh: tuple[int, int]) -> str:
    wide, high = size_wh
    x, y = (x0 + x1) / 2 / wide, (y0 + y1) / 2 / high
    return f"0 {x:.6f} {y:.6f} {(x1 - x0) / wide:.6f} {(y1 - y0) / high:.6f}\n"
