"""Compares reports: their figures in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from workshop.reporting.tables import Cell, format_figure

R = TypeVar("R")


@dataclass(frozen=True)
class Row(Generic[R]):
    """A figure that is compared between reports.

    Attributes:
        title: The name of the figure.
        figure: Returns the figure of a report; None when the report has none.
        format: Returns the text of the figure.
    """

    title: str
    figure: Callable[[R], float | None]
    format: Callable[[float | None], str] = format_figure


def compare(rows: Sequence[Row[R]], reports: Sequence[R]) -> list[list[Cell]]:
    """Return table rows with a column for each report, without figures that no report has.

    Args:
        rows: The figures.
        reports: The reports, all of one kind.
    """
    known = [row for row in rows if any(row.figure(report) is not None for report in reports)]
    return [[row.title, *(row.format(row.figure(report)) for report in reports)] for row in known]


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return part / whole; None when one is missing or the whole is 0."""
    return part / whole if part is not None and whole else None
