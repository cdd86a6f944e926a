"""Cells of CSV files."""

from __future__ import annotations

import pytest

from orchestrator.cameras.store.csv_cells import from_cell, to_cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("flat 12", "flat 12", id="text"),
        pytest.param("a=b", "a=b", id="sign inside"),
        pytest.param("=1+1", "'=1+1", id="equals"),
        pytest.param("+7 921", "'+7 921", id="plus"),
        pytest.param("-", "'-", id="minus"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at"),
        pytest.param("\t=1", "'\t=1", id="tab"),
        pytest.param("\uff1d1", "'\uff1d1", id="wide equals"),
        pytest.param("'=1", "''=1", id="apostrophe of its own"),
        pytest.param("'tis", "'tis", id="apostrophe before a word"),
    ],
)
def test_a_formula_becomes_a_text_and_comes_back(value: str, cell: str) -> None:
    assert to_cell(value) == cell
    assert from_cell(cell) == value


def test_numbers_stay() -> None:
    assert to_cell(-2.5) == -2.5
