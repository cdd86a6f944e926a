from dataclasses import dataclass

import pytest

from workshop.reporting.tables import (
    Row,
    compare,
    format_count,
    format_figure,
    format_number,
    format_percent,
    format_table,
    ratio,
)


def test_the_first_column_is_left_and_the_others_are_right() -> None:
    table = format_table(("", "plates", "ms"), [("std", 7, "1.25"), ("other", None, "30.0")])
    assert table == "       plates    ms\nstd         7  1.25\nother       -  30.0"


@pytest.mark.parametrize("format_", [format_count, format_figure, format_number, format_percent])
def test_a_missing_figure_is_a_dash(format_) -> None:
    assert format_(None) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"),
        (0.054, "0.05"),
        (1.234, "1.23"),
        (-1.234, "-1.23"),
        pytest.param(9.996, "10.0", id="rounded to one digit more"),
        (12.34, "12.3"),
        pytest.param(99.96, "100", id="rounded to a whole number"),
        (1234.5, "1234"),
    ],
)
def test_three_digits_mean_something(value: float, text: str) -> None:
    assert format_figure(value) == text


def test_more_digits_can_be_asked_for() -> None:
    assert format_figure(1.23456, 5) == "1.2346"


@dataclass(frozen=True)
class Speed:
    calls: int
    p50_ms: float | None = None


ROWS = (
    Row[Speed]("calls", lambda speed: speed.calls, format_count),
    Row[Speed]("p50, ms", lambda speed: speed.p50_ms),
)


def test_each_report_has_a_column() -> None:
    rows = compare(ROWS, [Speed(8, 1.5), Speed(9)])
    assert rows == [["calls", "8", "9"], ["p50, ms", "1.50", "-"]]


def test_a_figure_that_no_report_has_is_left_out() -> None:
    assert compare(ROWS, [Speed(8)]) == [["calls", "8"]]


def test_a_missing_figure_has_no_ratio() -> None:
    assert ratio(None, 2) is None
    assert ratio(1, 0) is None
    assert ratio(0, 2) == 0
