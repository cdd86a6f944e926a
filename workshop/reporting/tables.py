"""Formats tables as text, and the figures in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R")


NOTHING = "-"
"""The text in place of a missing figure."""

Cell = str | float | None
"""A cell of a table; None is a missing figure. A `float` is written with three digits."""
Rows = Sequence[Sequence[Cell]]


def format_table(header: Sequence[Cell], rows: Rows = ()) -> str:
    """Align columns: the first to the left, the others to the right."""
    lines = [[_format(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def format_markdown(header: Sequence[Cell], rows: Rows = ()) -> str:
    """Write a Markdown table; its columns are aligned in the same way."""
    ruler = ("---", *("---:" for _ in header[1:]))
    lines = (header, ruler, *rows)
    return "".join(f"| {' | '.join(map(_format, line))} |\n" for line in lines)


def _format(cell: Cell) -> str:
    return format_figure(cell) if cell is None or isinstance(cell, float) else str(cell)


def format_count(value: float | None) -> str:
    """Write a whole number."""
    return NOTHING if value is None else f"{value:.0f}"


def format_number(value: float | None) -> str:
    """Write a figure with three decimals."""
    return NOTHING if value is None else f"{value:.3f}"


def format_percent(value: float | None) -> str:
    """Write a proportion as a percentage."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def format_figure(value: float | None) -> str:
    """Write a figure with three significant digits, fewer below 1: `0.05`."""
    if value is None:
        return NOTHING
    whole = len(str(int(abs(float(f"{value:.3g}")))))
    return f"{value:.{max(0, 3 - whole)}f}"


@dataclass(frozen=True)
class Row(Generic[R]):
    """A figure that is compared between reports."""

    title: str
    figure: Callable[[R], float | None]
    format: Callable[[float | None], str] = format_figure


def compare(rows: Sequence[Row[R]], reports: Sequence[R | None]) -> list[list[Cell]]:
    """Return table rows with a column for each report, without figures that no report has."""
    table = [
        (row, [None if report is None else row.figure(report) for report in reports])
        for row in rows
    ]
    return [
        [row.title, *map(row.format, figures)]
        for row, figures in table
        if any(figure is not None for figure in figures)
    ]


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return part / whole; None when one is missing or the whole is 0."""
    return part / whole if part is not None and whole else None
