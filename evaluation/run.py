"""One evaluation from the data to the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import typer

from evaluation.comparison import read_report, side_by_side
from evaluation.datasets import BoxedPicture, read_boxes, read_scenes
from evaluation.detection import Detected
from evaluation.detection_files import write_detection
from evaluation.engines import Engine, EngineOptions, opened
from evaluation.figures import Figures, detection_figures, reading_figures
from evaluation.outcomes import Outcome, detect_all, judge_scenes
from evaluation.reading_files import write_reading
from evaluation.report import writable, write_report
from evaluation.tables import text_of
from orchestrator.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """What to measure on and where to write.

    Attributes:
        out: Folder for the report.
        scenes: Folder of pictures whose plates' texts are known.
        detection: YOLO data set.
        split: Of the data set.
        ignore: CSV of its plates without a label.
        name: Of the report.
        against: Other reports to compare with.
        limit: At most so many pictures of each data set.
    """

    out: Path
    scenes: Path | None = None
    detection: Path | None = None
    split: str = "val"
    ignore: Path | None = None
    name: str = "ours"
    against: tuple[Path, ...] = ()
    limit: int | None = None


def run(task: Task, options: EngineOptions) -> str:
    """Measure, write the report and return it as text.

    Raises:
        DataError: The data, a report to compare with or the folder for the report cannot be used.
        WeightsError: Weights cannot be used.
        ServerError: The server cannot be started or reached.
    """
    if not task.scenes and not task.detection:
        raise DataError("data: wanted a folder of scenes or --detection, got neither")
    others = [read_report(path) for path in task.against]
    scenes = read_scenes(task.scenes, task.limit) if task.scenes else []
    boxed: list[BoxedPicture] = []
    if task.detection:
        boxed = read_boxes(task.detection, task.split, ignore=task.ignore, limit=task.limit)
    with writable(task.out):
        _prepare(task.out)
    with opened(options) as engine:
        started = time.monotonic()
        outcomes = judge_scenes(_watched(scenes, "reading"), engine.read)
        detected = detect_all(_watched(boxed, "detecting"), engine.detect)
        seconds = time.monotonic() - started
    report = figures(task, engine, outcomes, detected) | {"seconds": round(seconds, 1)}
    comparison = side_by_side([report, *others]) if others else ""
    with writable(task.out):
        write_report(report, comparison, task.out)
        if outcomes:
            write_reading(report, outcomes, task.out)
        if detected:
            write_detection(report, detected, [picture.path for picture in boxed], task.out)
    return "\n\n".join(filter(None, (text_of(report), comparison.rstrip())))


def figures(
    task: Task, engine: Engine, outcomes: Sequence[Outcome], detected: Sequence[Detected]
) -> Figures:
    """Return the report: what was measured, how, and every figure."""
    report: Figures = {
        "name": task.name,
        "way": engine.kind,
        "engine": engine.networks.value if engine.networks else None,
        "settings": asdict(engine.settings),
        "weights_sha256": dict(engine.weights),
        "data": {
            "scenes": task.scenes.resolve().name if task.scenes else None,
            "detection": task.detection.resolve().name if task.detection else None,
            "split": task.split if task.detection else None,
            "limit": task.limit,
        },
    }
    if outcomes:
        report["reading"] = reading_figures(outcomes)
    if detected:
        threshold = engine.settings.detection_threshold
        report["detection"] = detection_figures(detected, threshold)
    return report


def _watched(items: Sequence[T], label: str) -> Iterator[T]:
    """Show on stderr how far a loop is."""
    if items:
        with typer.progressbar(items, label=label, file=sys.stderr) as bar:
            yield from bar


def _prepare(folder: Path) -> None:
    """Create the folder; a new one is kept out of Git, because it will show people's plates."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if is_new:
        (folder / ".gitignore").write_text("*\n")
