"""Formats the results under conditions as tables, of one or several evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workshop.evaluation.reading import LetterCount
from workshop.evaluation.results import ConditionResult, ConditionsResult, RatePoint
from workshop.reporting.tables import (
    Cell,
    format_markdown,
    format_number,
    format_percent,
    format_table,
    ratio,
)

COLUMNS = ("read", "wrong", "not shown", "found", "wrong of shown", "ECE")
COMPARED = ("read", "wrong of shown", "ECE")
CURVES: tuple[tuple[str, Callable[[ConditionsResult], Sequence[RatePoint]]], ...] = (
    ("width of the plate, px", lambda result: result.by_width_px),
    ("turn, degrees", lambda result: result.by_turn_deg),
    ("smear, px", lambda result: result.by_smear_px),
)
"""The curves: the title of the x axis, and the function that returns the points."""


def summarize_conditions(result: ConditionsResult) -> list[str]:
    """Return the table of conditions, and the points of the curves, as texts."""
    rows = [(condition.name, *_row(condition)) for condition in (*result.each, result.mean)]
    title = f"conditions, {result.each[0].std.plates} standard plates in each"
    tables = (format_table((title, *COLUMNS), rows), tabulate_letters(result.letters))
    return [*tables, *_tabulate_curves(result)]


def _row(result: ConditionResult) -> tuple[Cell, ...]:
    std = result.std
    rates = (std.read, std.wrong, std.not_shown, std.found)
    return (
        *(format_percent(ratio(count, std.plates)) for count in rates),
        format_percent(std.wrong_of_shown),
        format_number(result.ece),
    )


def tabulate_letters(letters: Sequence[LetterCount], place: int = 1) -> str:
    """Return the confusion table of the letters at a place: a row for each true letter."""
    cells = {(count.letter, count.read): count for count in letters if count.place == place}
    columns = sorted({read for _, read in cells})
    rows = []
    for letter in sorted({letter for letter, _ in cells}):
        row = [cells.get((letter, read)) for read in columns]
        sure = sum(cell.sure for cell in row if cell and cell.read != letter)
        rows.append((letter, *(cell.count if cell else "" for cell in row), sure))
    header = (f"letter {place} read as", *(read or "none" for read in columns), "sure and wrong")
    return format_table(header, rows)


def _tabulate_curves(result: ConditionsResult) -> list[str]:
    return [
        format_table(
            (f"read by {title}", "", ""),
            [
                (f"  {point.bin}", f"{point.read}/{point.plates}", format_percent(point.rate))
                for point in points_of(result)
            ],
        )
        for title, points_of in CURVES
    ]


def compare_conditions(results: Mapping[str, ConditionsResult]) -> str:
    """Return the conditions of several evaluations side by side, in Markdown.

    Args:
        results: By the name of the evaluation; the conditions of the first one are the rows.
    """
    tables = [
        {condition.name: condition for condition in (*of.each, of.mean)} for of in results.values()
    ]
    header = ("", *(f"{name}: {title}" for name in results for title in COMPARED))
    rows = [
        (name, *(cell for table in tables for cell in _compared(table.get(name))))
        for name in tables[0]
    ]
    return format_markdown(header, rows)


def _compared(result: ConditionResult | None) -> tuple[Cell, ...]:
    if result is None:
        return (None,) * len(COMPARED)
    std = result.std
    return (
        format_percent(std.read_rate),
        format_percent(std.wrong_of_shown),
        format_number(result.ece),
    )


def compare_curves(results: Mapping[str, ConditionsResult]) -> str:
    """Return the part that is read, in a Markdown table each for widths, turns and smears.

    Args:
        results: By the name of the evaluation; the bins of the first one are the columns.
    """
    return "\n".join(
        _compare_curve(title, {name: points_of(result) for name, result in results.items()})
        for title, points_of in CURVES
    )


def _compare_curve(title: str, curves: Mapping[str, Sequence[RatePoint]]) -> str:
    bins = [point.bin for point in next(iter(curves.values()))]
    rows = []
    for name, points in curves.items():
        rates = {point.bin: point.rate for point in points}
        rows.append((name, *(format_percent(rates.get(name_of_bin)) for name_of_bin in bins)))
    return format_markdown((title, *bins), rows)
