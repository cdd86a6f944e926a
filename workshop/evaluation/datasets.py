"""Reads labelled pictures in two formats: plate texts in `labels.csv`, and YOLO boxes."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from orchestrator.errors import DataError
from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.files import SUFFIXES

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
    lines = enumerate(_text(path).splitlines(), 1)
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


T = TypeVar("T")

STANDARD, OTHER, BAD = TYPES = ("std", "other", "bad")
SIDES = ("x0", "y0", "x1", "y1")
Point = tuple[float, float]
"""A point x, y in pixels."""


@dataclass(frozen=True)
class LabelledPlate:
    """A plate whose text is known.

    Attributes:
        text: The text, in Latin look-alikes.
        type: The type: `std`, `other` or `bad`.
        region: The region of the plate in the picture, xyxy pixels, with some margin.
        format: The name of its plate format; empty when the labels do not name it.
    """

    text: str
    type: str
    region: Box
    format: str = ""

    def holds(self, point: Point) -> bool:
        """Tell whether a point lies in the region."""
        x, y = point
        return self.region[0] <= x <= self.region[2] and self.region[1] <= y <= self.region[3]


@dataclass(frozen=True)
class Scene:
    """A picture and the plates in it whose texts are known."""

    path: Path
    plates: tuple[LabelledPlate, ...]


@dataclass(frozen=True)
class BoxedPicture:
    """A picture and the boxes of its plates.

    Attributes:
        relative: The boxes in YOLO format: centre x, centre y, width, height, as parts of the
            picture's size.
        ignored: Plates without a label, xyxy pixels; a detection there is neither right nor wrong.
    """

    path: Path
    relative: tuple[Box, ...]
    ignored: tuple[Box, ...] = ()

    def labels(self, size_wh: tuple[int, int]) -> list[Box]:
        """Return the labelled boxes in xyxy pixels, for a picture of this size."""
        return [to_pixels(box, size_wh) for box in self.relative]


@dataclass(frozen=True)
class Selection:
    """A selection of pictures from a data set, in the order of their names.

    Attributes:
        every: The step: 3 takes the first picture and every third one after it.
        limit: The number of these to take, from the first; all when None.
    """

    every: int = 1
    limit: int | None = None

    def of(self, items: Sequence[T]) -> list[T]:
        """Return the selected items, in order."""
        return list(items[:: self.every][: self.limit])


ALL = Selection()


def read_scenes(
    folder: Path, selection: Selection = ALL, alphabet: str | None = None
) -> list[Scene]:
    """Read `labels.csv` of a folder with `images/`.

    Args:
        folder: Holds `images/` and `labels.csv` (image, text, type, x0, y0, x1, y1, and
            format if it is known).
        selection: The selection of pictures.
        alphabet: The characters of the texts; those of Russian plates when None.

    Raises:
        DataError: Data is missing or malformed; the message names the file and the line.
    """
    alphabet = alphabet or russian().alphabet
    labels, images = folder / "labels.csv", _check_folder(folder / "images")
    plates: dict[str, list[LabelledPlate]] = {}
    for where, row in read_rows(labels, ("image", "text", "type", *SIDES)):
        if not (images / row["image"]).is_file():
            raise DataError(f"{where}: wanted a picture in {images}, got {row['image']!r}")
        plates.setdefault(row["image"], []).append(_plate(where, row, alphabet))
    if not plates:
        raise DataError(f"{labels}: wanted labelled plates, got none")
    names = selection.of(sorted(plates))
    return [Scene(images / name, tuple(plates[name])) for name in names]


def read_boxes(
    folder: Path, split: str, *, ignore: Path | None = None, selection: Selection = ALL
) -> list[BoxedPicture]:
    """Read one split of a YOLO data set. A picture without a label file has no plates.

    Args:
        folder: Holds `images/SPLIT` and `labels/SPLIT`.
        split: The name of the split, for example `val`.
        ignore: CSV of plates without a label (image, x0, y0, x1, y1). When None, `ignore.csv` of
            the folder is used if it exists.
        selection: The selection of pictures.

    Raises:
        DataError: Data is missing or malformed; the message names the file and the line.
    """
    images = _check_folder(folder / "images" / split)
    labels = _check_folder(label_folder(images))
    paths = list_pictures(images)
    ignored = read_ignored(ignore or folder / "ignore.csv", paths, is_needed=ignore is not None)
    pictures = [
        BoxedPicture(path, read_labels(label_file(path)), tuple(ignored.get(path.name, ())))
        for path in selection.of(paths)
    ]
    if not any(picture.relative for picture in pictures):
        raise DataError(f"{labels}: wanted labels of {len(pictures)} pictures, got no box")
    return pictures


def list_pictures(folder: Path) -> list[Path]:
    """Return the pictures of a folder, in the order of their names.

    Raises:
        DataError: There is no such folder.
    """
    files = _check_folder(folder).iterdir()
    return sorted(path for path in files if path.suffix.lower() in SUFFIXES)


def _plate(where: str, row: dict[str, str], alphabet: str) -> LabelledPlate:
    if row["type"] not in TYPES:
        raise DataError(f"{where}: wanted type {', '.join(TYPES)}, got {row['type']!r}")
    strange = sorted(set(row["text"]) - set(alphabet))
    if row["type"] == STANDARD and (strange or not row["text"]):
        raise DataError(f"{where}: wanted a text of the characters {alphabet}, got {row['text']!r}")
    return LabelledPlate(row["text"], row["type"], _box(where, row), row.get("format") or "")


def read_ignored(path: Path, pictures: Sequence[Path], *, is_needed: bool) -> dict[str, list[Box]]:
    """Read a CSV of plates without a label (image, x0, y0, x1, y1), by the picture's name.

    Raises:
        DataError: The file is malformed, names another picture, or is needed and missing.
    """
    if not is_needed and not path.is_file():
        return {}
    names = {picture.name for picture in pictures}
    boxes: dict[str, list[Box]] = {}
    for where, row in read_rows(path, ("image", *SIDES)):
        if row["image"] not in names:
            raise DataError(f"{where}: wanted a picture of the data set, got {row['image']!r}")
        boxes.setdefault(row["image"], []).append(_box(where, row))
    return boxes


def _box(where: str, row: dict[str, str]) -> Box:
    try:
        x0, y0, x1, y1 = (float(row[side]) for side in SIDES)
    except ValueError:
        got = ", ".join(row[side] for side in SIDES)
        raise DataError(f"{where}: wanted numbers x0, y0, x1, y1, got {got}") from None
    if not (x0 < x1 and y0 < y1):
        raise DataError(f"{where}: wanted x0 < x1 and y0 < y1, got {x0:g}, {y0:g}, {x1:g}, {y1:g}")
    return x0, y0, x1, y1


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each row of a CSV file, `file:line`, and its values by column."""
    reader = csv.reader(_text(path).splitlines())
    header = next(reader, [])
    missing = [column for column in columns if column not in header]
    if missing:
        raise DataError(
            f"{path}:1: wanted the columns {','.join(columns)}, got {','.join(header) or 'nothing'}"
        )
    for values in reader:
        where = f"{path}:{reader.line_num}"
        if len(values) != len(header):
            raise DataError(f"{where}: wanted {len(header)} values, got {len(values)}")
        yield where, dict(zip(header, values, strict=True))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: wanted UTF-8 text, got other bytes") from error


def _check_folder(path: Path) -> Path:
    if not path.is_dir():
        raise DataError(f"{path}: wanted a folder, got none")
    return path
