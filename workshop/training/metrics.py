"""Measurements of a run: `metrics.csv`, and diagrams of it."""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from orchestrator.errors import SettingsError
from workshop.reporting.files import write_csv
from workshop.reporting.plots import ACCENT, INK, open_figure, scale_y

if TYPE_CHECKING:
    from matplotlib.axes import Axes

log = logging.getLogger(__name__)

FILE, DIAGRAMS = "metrics.csv", "metrics.png"
COLOURS = (INK, ACCENT, "#5b8c5a", "#8064a2")


@dataclass(frozen=True)
class ReaderRow:
    """The reader's accuracy on one set of plates at a checkpoint.

    Attributes:
        loss: Mean loss of the steps since the last checkpoint; None at the start.
        rate: Learning rate of the last step; None at the start.
        set: Name of the set: `rendered`, `held out`, or that of a blind set.
        raw_accuracy: Share of the plates that the current weights read exactly.
        averaged_accuracy: Share of the plates that the averaged weights, which are shipped, read
            exactly.
    """

    step: int
    loss: float | None
    rate: float | None
    set: str
    plates: int
    raw_accuracy: float
    averaged_accuracy: float

    @property
    def place(self) -> int:
        return self.step


@dataclass(frozen=True)
class DetectorRow:
    """Metrics of the detector's averaged weights on the validation pictures after an epoch.

    Attributes:
        loss: Mean loss of the epoch; None at the start.
        rate: Learning rate of the epoch's last step; None at the start.
        precision: Precision at the best F1.
        recall: Recall at the best F1.
        map50_95: Mean average precision, averaged over IoU 0.5 to 0.95.
    """

    epoch: int
    step: int
    loss: float | None
    rate: float | None
    precision: float
    recall: float
    map50: float
    map50_95: float

    @property
    def place(self) -> int:
        return self.epoch


class _Row(Protocol):
    @property
    def place(self) -> int: ...


M = TypeVar("M", bound=_Row)


class Metrics(Generic[M]):
    """The measurements of a run; each is written to disk at once."""

    def __init__(self, kind: type[M], folder: Path, place: int) -> None:
        """Load the measurements that a run has made so far.

        Args:
            kind: Type of the rows.
            folder: Folder of the run.
            place: Step or epoch at which the run resumes; later rows are dropped, since the run
                makes them again.
        """
        self._kind, self._path = kind, folder / FILE
        self.rows = [row for row in _read(kind, self._path) if row.place <= place]

    def has(self, place: int) -> bool:
        """Tell whether a step or epoch has been measured."""
        return any(row.place == place for row in self.rows)

    def add(self, rows: Sequence[M]) -> None:
        """Add the rows of a measurement to the file."""
        self.rows += rows
        part = self._path.with_name(f"{FILE}.part")
        write_csv(self._kind, self.rows, part)
        part.replace(self._path)


def _read(kind: type[M], path: Path) -> list[M]:
    if not path.exists():
        return []
    parsers: dict[str, Callable[[str], object]] = {
        "int": int, "str": str, "float": float, "float | None": _number,
    }  # fmt: skip
    parse = {field.name: parsers[str(field.type)] for field in fields(kind)}  # type: ignore[arg-type]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            return [kind(**{key: parse[key](row[key]) for key in parse}) for row in table]
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(f"{path}: wanted the figures of this run, got: {error}") from error


def _number(text: str) -> float | None:
    return float(text) if text else None


def can_draw() -> bool:
    """Tell whether diagrams can be drawn; log it if they cannot."""
    if find_spec("matplotlib"):
        return True
    log.info("no %s: matplotlib is not installed (make workshop); %s has it all", DIAGRAMS, FILE)
    return False


def draw_reader(rows: Sequence[ReaderRow], folder: Path) -> None:
    """Draw the reader's accuracy and loss over the steps, as `metrics.png`."""
    with open_figure(folder / DIAGRAMS, 1, 2) as (left, right):
        for colour, name in zip(COLOURS, dict.fromkeys(row.set for row in rows), strict=False):
            set_rows = [row for row in rows if row.set == name]
            steps = [row.step for row in set_rows]
            raw = [100 * row.raw_accuracy for row in set_rows]
            averaged = [100 * row.averaged_accuracy for row in set_rows]
            of_set = f"{set_rows[-1].plates} {name}"
            left.plot(steps, averaged, "o-", color=colour, label=f"{of_set}, averaged")
            left.plot(steps, raw, "--", color=colour, label=f"{of_set}, raw weights")
        left.set(title="Plates read exactly", xlabel="step", ylabel="%", ylim=(0, 101))
        _draw_loss(right, [row for row in rows if row.set == rows[0].set], "step")


def draw_detector(rows: Sequence[DetectorRow], folder: Path) -> None:
    """Draw the detector's metrics and loss over the epochs, as `metrics.png`."""
    epochs = [row.epoch for row in rows]
    curves = {
        "precision": [row.precision for row in rows],
        "recall": [row.recall for row in rows],
        "mAP50": [row.map50 for row in rows],
        "mAP50-95": [row.map50_95 for row in rows],
    }
    with open_figure(folder / DIAGRAMS, 1, 2) as (left, right):
        for (name, values), colour in zip(curves.items(), COLOURS, strict=True):
            left.plot(epochs, values, "o-", color=colour, label=name)
        left.set(title="On the validation pictures", xlabel="epoch", ylim=(0, 1.01))
        _draw_loss(right, rows, "epoch")


def _draw_loss(axes: Axes, rows: Sequence[ReaderRow] | Sequence[DetectorRow], unit: str) -> None:
    points = [(row.place, row.loss) for row in rows if row.loss is not None]
    if points:
        scale_y(axes)
    axes.plot([place for place, _ in points], [loss for _, loss in points], "o-", color=INK)
    axes.set(title="Mean loss since the measurement before", xlabel=unit, ylabel="loss")
