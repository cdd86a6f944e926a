"""Runs one evaluation, from the data to the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import typer

from orchestrator.errors import DataError
from orchestrator.formats.plate_formats import read_formats
from workshop.evaluation.conditions.condition_files import write_conditions
from workshop.evaluation.conditions.condition_measurement import (
    ByCondition,
    judge_conditions,
    measure_conditions,
)
from workshop.evaluation.datasets import (
    ALL,
    BoxedPicture,
    Scene,
    Selection,
    read_boxes,
    read_scenes,
)
from workshop.evaluation.detection import DetectedPicture
from workshop.evaluation.measurement import measure_detection, measure_reading
from workshop.evaluation.outcomes import Outcome, detect_all, judge_scenes
from workshop.evaluation.pairing import write_changes, write_paired_test
from workshop.evaluation.recognizers import Recognizer, RecognizerOptions, open_recognizer
from workshop.evaluation.report_files.detection_files import write_detection
from workshop.evaluation.report_files.reading_files import write_reading
from workshop.evaluation.results import DataSets, Report
from workshop.evaluation.summary import summarize, write_comparison
from workshop.reporting.files import explain_write_errors, prepare_folder, read_report, write_report

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """The task of an evaluation: data, report and reports to compare with."""

    out: Path
    scenes: Path | None = None
    detection: Path | None = None
    split: str = "val"
    ignore: Path | None = None
    name: str = "ours"
    against: tuple[Path, ...] = ()
    selection: Selection = ALL
    conditions: bool = False


@dataclass(frozen=True)
class _TaskOutcomes:
    """All outcomes and detections of a task; parts that were not requested are empty."""

    boxed: Sequence[BoxedPicture]
    outcomes: Sequence[Outcome]
    detected: Sequence[DetectedPicture]
    by_condition: ByCondition


def run(task: Task, options: RecognizerOptions) -> str:
    """Measure, write the report, and return it as text.

    Raises:
        DataError: The data, a report to compare with or the folder for the report cannot be used.
        WeightsError: Weights cannot be used.
        ServerError: The server cannot be reached.
    """
    others = [_read_other(path, task.name) for path in task.against]
    scenes, boxed = _read_data(task, read_formats(options.choose_formats()).alphabet)
    prepare_folder(task.out)
    with open_recognizer(options) as recognizer:
        start_s = time.monotonic()
        task_outcomes = _judge(task, scenes, boxed, recognizer)
        seconds = round(time.monotonic() - start_s, 1)
    report = _report(task, recognizer, task_outcomes, seconds)
    comparison = _compare(report, others)
    with explain_write_errors(task.out):
        _write(report, task_outcomes, task.out)
        if others:
            (task.out / "comparison.md").write_text(comparison, encoding="utf-8")
            write_changes(report, others, task_outcomes.outcomes, task.out)
    return "\n\n".join(filter(None, (summarize(report), comparison.rstrip())))


def _judge(
    task: Task, scenes: Sequence[Scene], boxed: Sequence[BoxedPicture], recognizer: Recognizer
) -> _TaskOutcomes:
    return _TaskOutcomes(
        boxed=boxed,
        outcomes=judge_scenes(_watch(scenes, "reading"), recognizer.read),
        detected=detect_all(_watch(boxed, "detecting"), recognizer.detect),
        by_condition=judge_conditions(scenes, recognizer.read, _watch) if task.conditions else {},
    )


def _write(report: Report, task_outcomes: _TaskOutcomes, folder: Path) -> None:
    write_report(report, folder / "report.json")
    if report.reading:
        write_reading(
            report.reading, task_outcomes.outcomes, report.settings.text_threshold, folder
        )
    if report.conditions:
        write_conditions(report.conditions, task_outcomes.by_condition, folder)
    if report.detection:
        paths = [picture.path for picture in task_outcomes.boxed]
        write_detection(report.detection, task_outcomes.detected, paths, folder)


def _read_other(path: Path, name: str) -> Report:
    """Read a report to compare with. If it has the same name, its folder is added to the name."""
    other = read_report(Report, path)
    folder = path.resolve().parent.name
    return replace(other, name=f"{name} ({folder})") if other.name == name else other


def _compare(report: Report, others: Sequence[Report]) -> str:
    if not others:
        return ""
    tests = (write_paired_test(report, other) for other in others)
    return "\n".join((write_comparison([report, *others]), *tests))


def _read_data(task: Task, alphabet: str) -> tuple[list[Scene], list[BoxedPicture]]:
    if not task.scenes and not task.detection:
        raise DataError("data: wanted a folder of scenes or --detection, got neither")
    if task.conditions and not task.scenes:
        raise DataError("conditions: wanted a folder of scenes, got none")
    selection = task.selection
    scenes = read_scenes(task.scenes, selection, alphabet) if task.scenes else []
    if not task.detection:
        return scenes, []
    return scenes, read_boxes(task.detection, task.split, ignore=task.ignore, selection=selection)


def _report(
    task: Task,
    recognizer: Recognizer,
    task_outcomes: _TaskOutcomes,
    seconds: float,
) -> Report:
    threshold = recognizer.settings.detection_threshold
    return Report(
        name=task.name,
        way=recognizer.kind,
        engines={name: engine.value for name, engine in recognizer.engines.items()},
        settings=recognizer.settings,
        weights_sha256=dict(recognizer.weights),
        data=DataSets(
            scenes=task.scenes.resolve().name if task.scenes else None,
            detection=task.detection.resolve().name if task.detection else None,
            split=task.split if task.detection else None,
            limit=task.selection.limit,
            every=task.selection.every,
        ),
        seconds=seconds,
        reading=measure_reading(task_outcomes.outcomes) if task_outcomes.outcomes else None,
        detection=measure_detection(task_outcomes.detected, threshold)
        if task_outcomes.detected
        else None,
        conditions=measure_conditions(task_outcomes.by_condition)
        if task_outcomes.by_condition
        else None,
    )


def _watch(items: Sequence[T], label: str) -> Iterator[T]:
    """Show the progress of a loop on stderr."""
    if items:
        with typer.progressbar(items, label=label, file=sys.stderr) as bar:
            yield from bar
