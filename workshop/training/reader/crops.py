"""Real crops and their labels, split into crops for training and crops for measurement."""

from __future__ import annotations

import csv
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats
from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Quad
from workshop.rendering.texts import plain
from workshop.reporting.files import write_csv
from workshop.training.reader.reader_recipe import ReaderData

log = logging.getLogger(__name__)

LABELS = "labels.csv"
"""Name of the table of labels in a folder of validation crops."""
DROPPED = "dropped.csv"
MAX_LOGGED = 10
"""Number of dropped labels that the log names."""
EVERY = 11
"""One photo in this many is held out."""


@dataclass(frozen=True)
class RealCrop:
    """A plate cut from a photo, with margins of 5 % of its width and 20 % of its height a side.

    Attributes:
        name: Name of the file.
        picture: (H, W, 3) uint8 BGR.
        text: Text of the plate, its lines joined in order.
        lines: Number of lines of the text, 1 or 2.
        corners: Corners of the plate, pixels of the picture, clockwise from top-left; None:
            unknown.
    """

    name: str
    picture: Bgr
    text: str
    lines: int = 1
    corners: Quad | None = None

    @property
    def quad(self) -> Quad:
        """Corners of the plate, or of the box inside the margins if unknown, (4, 2)."""
        if self.corners is not None:
            return self.corners
        x0, y0, x1, y1 = inner_box(self.picture)
        return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


@dataclass(frozen=True)
class DroppedLabel:
    """A label that is not used: its table, its row, and the reason."""

    table: str
    crop: str
    text: str
    why: str


@dataclass(frozen=True)
class RealData:
    """Real crops for a training.

    Attributes:
        training: Crops to train on.
        held_out: Crops to measure and calibrate on; no training crop has one of their texts.
        dropped: Labels that are not used.
    """

    training: tuple[RealCrop, ...] = ()
    held_out: tuple[RealCrop, ...] = ()
    dropped: tuple[DroppedLabel, ...] = ()


def read_data(data: ReaderData, formats: Formats, *, train: bool) -> RealData:
    """Read the real crops of a recipe, and log how many are held out and why.

    Args:
        data: Data of the recipe.
        formats: Formats of the plates.
        train: True to train on real crops; False to read those of `validation` only.

    Raises:
        SettingsError: A table cannot be read, no label of it can be used, or no crop is left to
            train on.
    """
    crops: list[RealCrop] = []
    dropped: list[DroppedLabel] = []
    if data.crops and data.labels and train:
        crops, dropped = read_crops(data.crops, data.labels, data.votes, formats)
    if data.validation:
        table = data.validation / LABELS
        held_out, more = read_crops(data.validation, table, data.votes, formats)
        dropped = [*dropped, *more]
        why = f"those of {data.validation}"
    else:
        held_out = [crop for crop in crops if photo_of(crop.name) % EVERY == 0]
        why = f"those of every {EVERY}th photo"
    training = leave_out(crops, held_out)
    if crops and not training:
        raise SettingsError(f"crops: wanted some whose text is not held out, got {len(crops)}, "
                            f"{len(held_out)} held out: {why}")  # fmt: skip
    _log_use(crops, training, held_out, why)
    return RealData(tuple(training), tuple(held_out), tuple(dropped))


def _log_use(
    crops: Sequence[RealCrop], training: Sequence[RealCrop], held_out: Sequence[RealCrop], why: str
) -> None:
    """Log the use of the real crops."""
    log.info("%d real crops to learn from%s", len(training), "" if training else
             ": every plate is rendered")  # fmt: skip
    if held_out:
        log.info("held out %d real crops to measure on: %s", len(held_out), why)
    used_ids = {id(crop) for crop in (*training, *held_out)}
    if same_text := sum(id(crop) not in used_ids for crop in crops):
        log.info("left out %d more crops: they have the text of one that is held out", same_text)


def leave_out(crops: Sequence[RealCrop], held_out: Sequence[RealCrop]) -> list[RealCrop]:
    """Return the crops without those whose text a held-out crop has."""
    texts = {crop.text for crop in held_out}
    return [crop for crop in crops if crop.text not in texts]


def photo_of(name: str) -> int:
    """Return the number of a crop's photo: the part of its name before the first underscore."""
    photo = Path(name).stem.split("_")[0]
    return int(photo) if photo.isdecimal() else zlib.crc32(photo.encode())


def read_crops(
    folder: Path, table: Path, votes: int, formats: Formats
) -> tuple[list[RealCrop], list[DroppedLabel]]:
    """Read the labelled crops of a folder in the order of their names, and the unusable labels.

    Args:
        folder: Folder of the crops.
        table: CSV with the columns `crop` and `text`, or `crop`, `draft_text` and `votes_of_9`. A
            column `corners` may hold x and y of the plate's four corners, clockwise from top-left.
        votes: Least number of votes of a draft that is used, if there is the column.
        formats: Formats of the plates.

    Raises:
        SettingsError: The file cannot be read as such a table, or no label of it can be used.
    """
    crops, dropped = [], []
    for label in _read_labels(table):
        crop_or_reason = _read_crop(folder, label, votes, formats)
        if isinstance(crop_or_reason, RealCrop):
            crops.append(crop_or_reason)
        else:
            dropped.append(DroppedLabel(str(table), label.crop, label.text, crop_or_reason))
    if not crops:
        first = f", the first: {dropped[0].crop}: {dropped[0].why}" if dropped else ""
        raise SettingsError(
            f"{table}: wanted labelled crops, got {len(dropped)} that cannot be used{first}"
        )
    return crops, dropped


class _Label(NamedTuple):
    """A row of a table of labels."""

    crop: str
    text: str
    votes: int
    corners: str


def _read_crop(folder: Path, label: _Label, votes: int, formats: Formats) -> RealCrop | str:
    """Read one crop, or return the reason why it cannot be used.

    A text that fits plates of one line and of two counts as one line, unless it has a `/`.
    """
    if label.votes < votes:
        return f"{label.votes} of 9 votes, wanted {votes}"
    text = plain(label.text)
    possible = [lines for lines in (1, 2) if formats.format_of(text, lines)]
    if text != label.text:
        possible = [lines for lines in possible if lines == 2]
    if not possible:
        return "no plate format"
    if not (folder / label.crop).is_file():
        return "no such file"
    picture = cv2.imread(str(folder / label.crop))
    if picture is None:
        return "no picture"
    corners = _read_corners(label.corners)
    return RealCrop(label.crop, picture.astype(np.uint8), text, possible[0], corners)


def _read_corners(text: str) -> Quad | None:
    """Read eight numbers, x and y of each corner in turn; None for an empty text.

    Raises:
        ValueError: The text is not eight numbers.
    """
    if not text:
        return None
    return np.array([float(number) for number in text.split()]).reshape(4, 2)


def _read_labels(path: Path) -> list[_Label]:
    """Return the rows of a table in the order of the crops' names."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            table = csv.DictReader(lines)
            columns, rows = table.fieldnames or (), list(table)
        labels = [_Label(row.get("crop") or "", row.get("text") or row.get("draft_text") or "",
                         int(row.get("votes_of_9") or 9), row.get("corners") or "")
                  for row in rows]  # fmt: skip
        for label in labels:
            _read_corners(label.corners)
    except (OSError, csv.Error, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise SettingsError(f"{path}: wanted a CSV of crop,text, got: {reason}") from error
    if "crop" not in columns or not {"text", "draft_text"} & {*columns}:
        got = f"the columns {','.join(columns)}" if columns else "an empty file"
        raise SettingsError(f"{path}: wanted a CSV of crop,text, got {got}")
    last = {label.crop: label for label in labels}  # the last row wins
    return sorted(last.values())


def write_dropped(dropped: Sequence[DroppedLabel], folder: Path) -> None:
    """Log the first labels that are not used, and write all of them to `dropped.csv`."""
    write_csv(DroppedLabel, dropped, folder / DROPPED)
    for label in dropped[:MAX_LOGGED]:
        log.warning("left out %s, text %r: %s", label.crop, label.text, label.why)
    if len(dropped) > MAX_LOGGED:
        log.warning("left out %d more; all of them are in %s", len(dropped) - MAX_LOGGED,
                    folder / DROPPED)  # fmt: skip


def inner_box(picture: Bgr) -> NDArray[np.float64]:
    """Return the box of the plate in a crop with margins, (4,) x0 y0 x1 y1."""
    size = np.array(picture.shape[1::-1], np.float64)
    margin = size * np.array([0.05 / 1.1, 0.2 / 1.4])
    return np.concatenate([margin, size - margin])
