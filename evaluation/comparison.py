"""Reports side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.figures import PRECISION, Figures
from evaluation.report import read_json
from evaluation.tables import NOTHING, number, percent
from orchestrator.errors import DataError


@dataclass(frozen=True)
class Row:
    """A headline figure.

    Attributes:
        title: What it is.
        keys: Where it stands in a report.
        write: How it is written.
    """

    title: str
    keys: tuple[str, ...]
    write: Callable[[Any], str]


ROWS = (
    Row("standard plates", ("reading", "std", "plates"), str),
    Row("found", ("reading", "std", "found_rate"), percent),
    Row("**read exactly, end to end**", ("reading", "std", "read_rate"), percent),
    Row("read exactly, of those found", ("reading", "std", "read_of_found"), percent),
    Row("wrong (shown)", ("reading", "std", "wrong"), str),
    Row("not shown", ("reading", "std", "not_shown"), str),
    Row("missed", ("reading", "std", "missed"), str),
    Row("character error rate", ("reading", "characters", "error_rate"), percent),
    Row("exact by best path, of those found", ("reading", "decoding", "best_path"), str),
    Row("exact by free beam search", ("reading", "decoding", "free_beam"), str),
    Row("exact by beam search in formats", ("reading", "decoding", "format_beam"), str),
    Row(
        f"coverage at {100 * PRECISION:g} % precision",
        ("reading", "coverage", f"at_precision_{PRECISION}", "coverage"),
        percent,
    ),
    Row("expected calibration error", ("reading", "calibration", "ece"), number),
    Row("labelled plates, detection", ("detection", "labels"), str),
    Row("precision", ("detection", "at_threshold", "precision"), number),
    Row("recall", ("detection", "at_threshold", "recall"), number),
    Row("mAP50", ("detection", "map50"), number),
    Row("mAP50-95", ("detection", "map50_95"), number),
)


def read_report(path: Path) -> Figures:
    """Read a `report.json`.

    Raises:
        DataError: It is no report.
    """
    report = read_json(path)
    if not isinstance(report, dict) or "name" not in report:
        raise DataError(f"{path}: wanted a report of plates evaluate, got other JSON")
    return dict(report)


def side_by_side(reports: Sequence[Figures]) -> str:
    """Return the headline figures of reports as a Markdown table, a column each."""
    rows = [
        (row.title, *(_written(row, report) for report in reports))
        for row in ROWS
        if any(_figure(row, report) is not None for report in reports)
    ]
    header = ("", *(str(report["name"]) for report in reports))
    cells = [header, ("---", *("---:" for _ in reports)), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _figure(row: Row, report: Figures) -> Any:
    figure: Any = report
    for key in row.keys:
        figure = figure.get(key) if isinstance(figure, dict) else None
    return figure


def _written(row: Row, report: Figures) -> str:
    figure = _figure(row, report)
    return NOTHING if figure is None else row.write(figure)
