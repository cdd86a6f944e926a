"""Reports side by side: figures in columns, or one report's divided by another's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from reporting.tables import Cell, format_figure

R = TypeVar("R")
K = TypeVar("K")


@dataclass(frozen=True)
class Row(Generic[R]):
    """A figure that reports are compared by.

    Attributes:
        title: What it is.
        figure: Takes it out of a report; None where the report has none.
        format: How it is shown.
    """

    title: str
    figure: Callable[[R], float | None]
    format: Callable[[float | None], str] = format_figure


def compare(rows: Sequence[Row[R]], reports: Sequence[R]) -> list[list[Cell]]:
    """Return the rows of a table with a column for each report; figures that none has are left out.

    Args:
        rows: The figures.
        reports: Of one kind.
    """
    known = [row for row in rows if any(row.figure(report) is not None for report in reports)]
    return [[row.title, *(row.format(row.figure(report)) for report in reports)] for row in known]


def divide(
    rows: Sequence[Row[R]], new: Mapping[K, R], old: Mapping[K, R]
) -> dict[K, list[float | None]]:
    """Return new / old of each figure, for the parts that both reports have.

    Args:
        rows: The figures.
        new: Parts of a report by what tells them apart.
        old: Those of the report to divide by.
    """
    return {
        key: [ratio(row.figure(part), row.figure(old[key])) for row in rows]
        for key, part in new.items()
        if key in old
    }


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return part / whole; None of nothing, or where one is missing."""
    return part / whole if part is not None and whole else None
