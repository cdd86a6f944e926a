"""Texts that other programs read and write: cells of CSV, encodings, lines of TOML."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.recognition.watchlist import read_watchlist
from orchestrator.formats.plate_formats import russian
from orchestrator.host.csv_cells import EXCEL, PLAIN, CsvForm
from orchestrator.host.toml_files import read_table
from orchestrator.host.toml_lines import find_line, find_long_number
from orchestrator.plates import Plate

FORMS = [pytest.param(PLAIN, id="plain"), pytest.param(EXCEL, id="excel")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "cell"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("a=b", "a=b", id="sign inside"),
        pytest.param("=1+1", "'=1+1", id="equals"),
        pytest.param("+7 921", "'+7 921", id="plus"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at"),
        pytest.param("\t=1", "'\t'=1", id="tab"),
        pytest.param("x; @SUM(1)", "x;' @SUM(1)", id="behind a semicolon and a blank"),
        pytest.param("x;\t-1", "x;'\t'-1", id="behind a tab"),
        pytest.param("\ufeff=1", "'\ufeff=1", id="byte order mark"),
        pytest.param("\xa0=1", "'\xa0=1", id="wide blank"),
        pytest.param("\u200b+1", "'\u200b+1", id="no width"),
        pytest.param('x;"=1;y', "x;'\"=1;y", id="quote behind a semicolon"),
        pytest.param("x\r\n+1", "x\r\n'+1", id="behind a line break"),
        pytest.param("x;'=1", "x;''=1", id="apostrophe of its own inside"),
        pytest.param("a;b\tc\nd", "a;b\tc\nd", id="signs between texts"),
        pytest.param("\uff1d1", "'\uff1d1", id="wide equals"),
        pytest.param("'=1", "''=1", id="apostrophe of its own"),
        pytest.param("'tis", "'tis", id="apostrophe before a word"),
    ],
)
def test_a_formula_becomes_a_text_and_comes_back(value: str, cell: str, form: CsvForm) -> None:
    assert form.to_cell(value) == cell
    assert form.from_cell(cell) == value


def test_a_formula_behind_a_comma_is_one_where_columns_have_semicolons() -> None:
    assert PLAIN.to_cell("flat 5, +7 921") == "flat 5, +7 921"
    assert EXCEL.to_cell("flat 5, +7 921") == "flat 5,' +7 921"


def test_numbers_have_the_decimal_sign_of_the_form() -> None:
    assert (PLAIN.to_cell(-2.5), PLAIN.to_cell(-2)) == (-2.5, -2)
    assert (EXCEL.to_cell(-2.5), EXCEL.to_cell(-2)) == ("-2,5", -2)


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text("=+-@;,\t\r\n' a\uff1d\"\ufeff", max_size=12))
def test_every_text_comes_back(form: CsvForm, text: str) -> None:
    assert form.from_cell(form.to_cell(text)) == text


@given(st.text("=+-@;\t\n' a\"\ufeff", max_size=12), st.sampled_from([";", "\t"]))
def test_no_part_of_a_cell_is_a_formula_wherever_it_is_split(text: str, separator: str) -> None:
    parts = re.split(f"[{separator}\r\n]", PLAIN.to_cell(text))
    assert not [part for part in parts if is_formula(part)]


@pytest.mark.parametrize("form", FORMS)
@given(
    texts=st.lists(st.text("=-@;,\t\n' a\"\ufeff", max_size=8), min_size=1, max_size=4),
    separator=st.sampled_from(",;\t"),
)
def test_a_file_has_no_formulas_in_whichever_program_it_is_opened(
    form: CsvForm, texts: list[str], separator: str
) -> None:
    lines = form.to_lines([map(form.to_cell, texts)])
    cells = [cell for row in csv.reader(io.StringIO(lines), delimiter=separator) for cell in row]
    assert not [cell for cell in cells if is_formula(cell)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@given(texts=st.lists(st.text('a\r\n,;"', max_size=4), min_size=1, max_size=3))
def test_cells_with_ends_of_lines_stay_whole(
    form: CsvForm, line_end: str, texts: list[str]
) -> None:
    lines = form.to_lines([texts, texts], line_end)
    rows = csv.reader(io.StringIO(lines, newline=""), delimiter=form.separator)
    assert [*rows] == [texts, texts]
    assert lines.endswith(line_end)


def is_formula(cell: str) -> bool:
    return cell.lstrip(' \t\r\n"\ufeff')[:1] in {*"=+-@"}


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16"]

PLATE = Plate((0, 0, 1, 1), text="A123BC77")


@dataclass
class NamedRow:
    name: str


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_toml_is_read_by_its_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.toml").write_bytes('name = "\u043c"\r\n'.encode(encoding))
    assert read_table(NamedRow, tmp_path / "a.toml") == NamedRow("\u043c")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_so_is_a_watchlist(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("A123BC77 \u043c\r\n".encode(encoding))
    hit = read_watchlist(tmp_path / "a.txt", 0, russian(), print).find(PLATE)
    assert hit is not None
    assert (hit.plate, hit.note) == ("A123BC77", "\u043c")


FILE = """\
service = "a"
"quoted key" = 1

[store]
url = "b"
note = '''
[[cameras]]
url = "in a text"
'''
[[cameras]]  # the first
name = "gate"
zones = [
    { name = "entry" },
]
[cameras.schedule]
start = "06:00"
[[cameras]]
name = "yard"
schedule.end = "22:00"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param(("service",), 1, id="at the top"),
        pytest.param(("quoted key",), 2, id="quoted"),
        pytest.param(("store", "url"), 5, id="in a table"),
        pytest.param(("cameras", 0, "name"), 11, id="in a list"),
        pytest.param(("cameras", 0, "zones", 0, "name"), 12, id="inside a value: its key"),
        pytest.param(("cameras", 0, "schedule", "start"), 16, id="in a table of a list"),
        pytest.param(("cameras", 1, "name"), 18, id="the second of a list"),
        pytest.param(("cameras", 1, "schedule", "end"), 19, id="a dotted key"),
        pytest.param(("cameras", 1, "url"), 17, id="a key that is missing: its table"),
        pytest.param(("gates",), None, id="nothing of it"),
        pytest.param((), None, id="the whole file"),
    ],
)
def test_the_line_of_a_value_is_found(path: tuple[str | int, ...], line: int | None) -> None:
    assert find_line(FILE, path) == line


def test_the_line_of_an_endless_number_is_found() -> None:
    assert find_long_number("a = 1\nb = " + "9" * 5000) == 2
    assert find_long_number(FILE) is None
