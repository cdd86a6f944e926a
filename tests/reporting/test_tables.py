import pytest

from reporting.tables import (
    format_count,
    format_figure,
    format_markdown,
    format_number,
    format_percent,
    format_table,
)


def test_a_table_without_rows_is_its_header() -> None:
    assert format_table(("name", "plates")) == "name  plates"


def test_the_first_column_is_left_and_the_others_are_right() -> None:
    table = format_table(("", "plates", "ms"), [("std", 7, "1.25"), ("other", None, "30.0")])
    assert table == "       plates    ms\nstd         7  1.25\nother       -  30.0"


def test_a_table_of_markdown_is_aligned_alike() -> None:
    table = format_markdown(("", "a"), [("plates", 3), ("read", None)])
    assert table == "|  | a |\n| --- | ---: |\n| plates | 3 |\n| read | - |\n"


@pytest.mark.parametrize("format_", [format_count, format_figure, format_number, format_percent])
def test_a_missing_figure_is_a_dash(format_) -> None:
    assert format_(None) == "-"


def test_figures_have_the_digits_of_their_kind() -> None:
    assert format_count(12.0) == "12"
    assert format_number(0.12345) == "0.123"
    assert format_percent(0.98765) == "98.8 %"


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
