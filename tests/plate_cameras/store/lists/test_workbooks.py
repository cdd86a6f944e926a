"""Workbooks as lists of plates."""

import io
import zipfile
from datetime import date, datetime
from typing import Any

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.store.lists import file_contents
from plate_cameras.store.lists.file_contents import decode
from plate_cameras.store.lists.list_file import parse_csv, read_rows

openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl")


def to_workbook(*rows: tuple[Any, ...]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_an_empty_workbook_has_no_columns() -> None:
    with pytest.raises(ParameterError, match="columns: wanted text"):
        parse_csv(decode(to_workbook()))


def test_the_first_sheet_is_read() -> None:
    content = to_workbook(
        ("\u041d\u043e\u043c\u0435\u0440", "note", "valid until", "edits"),
        ("\u0410 123 \u0412\u0421 77 RUS", "flat 7,\nleft", datetime(2027, 12, 31), 1.0),
        (None, None, None, None),
        ("M456OP199", 12, date(2027, 12, 31), None),
        ("B777BB77", None, datetime(2027, 12, 31, 18, 30), None),
    )
    first, second, third = parse_csv(decode(content)).values()
    assert (first.text, first.note, first.edits) == ("A123BC77", "flat 7, left", 1)
    assert first.valid_until_s == datetime(2028, 1, 1).astimezone().timestamp()
    assert (second.text, second.note, second.valid_until_s) == (
        "M456OP199",
        "12",
        first.valid_until_s,
    )
    assert third.valid_until_s == datetime(2027, 12, 31, 18, 30).astimezone().timestamp()


def test_lines_are_those_of_the_sheet() -> None:
    (row,) = read_rows(decode(to_workbook(("text",), (None,), ("HORSE",))))
    assert row.line == 3


def change_sheet(content: bytes, sheet: bytes) -> bytes:
    """Return a workbook with another first sheet."""
    workbook = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(workbook, "w") as new:
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("sheet1.xml") else old.read(name))
    return workbook.getvalue()


TYPE = '<!DOCTYPE a [<!ENTITY a "ha">]>'


@pytest.mark.parametrize(
    "sheet",
    [
        pytest.param(f"<?xml version='1.0'?>{TYPE}<a>&a;</a>".encode(), id="UTF-8"),
        pytest.param(f"<?xml version='1.0'?>{TYPE}<a>&a;</a>".encode("utf-16"), id="UTF-16"),
        pytest.param(f"<!--{' ' * 70_000}-->{TYPE}<a/>".encode(), id="late"),
        pytest.param(f"{TYPE}<<".encode(), id="damaged"),
    ],
)
def test_a_workbook_defines_nothing(sheet: bytes) -> None:
    with pytest.raises(ParameterError, match=r"without document types, got 'xl/worksheets/sheet1"):
        decode(change_sheet(to_workbook(("text",)), sheet))


def in_need_of_another_program(at: int) -> bytes:
    """Return a workbook with another version, other flags or another method."""
    content = bytearray(to_workbook(("text",)))
    entry = content.rindex(b"PK\x01\x02")
    for start, offset in ((content.rindex(b"PK\x03\x04"), 0), (entry, 2)):
        content[start + offset + at] = 0xFF
    return bytes(content)


def another_archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("text.txt", "A123BC77")
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(to_workbook(("text",))[:-200], id="half"),
        pytest.param(another_archive(), id="another archive"),
        *(pytest.param(in_need_of_another_program(at), id=f"byte {at}") for at in (4, 6, 8)),
    ],
)
def test_a_damaged_workbook_is_told(content: bytes) -> None:
    with pytest.raises(ParameterError, match="damaged workbook"):
        decode(content)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        pytest.param("MAX_WORKBOOK_BYTES", "at most 2 bytes when unpacked", id="a bomb"),
        pytest.param("MAX_ENTRIES", "rows: wanted at most 2", id="rows"),
    ],
)
def test_a_workbook_has_upper_numbers(
    monkeypatch: pytest.MonkeyPatch, limit: str, message: str
) -> None:
    monkeypatch.setattr(file_contents, limit, 2)
    with pytest.raises(ParameterError, match=message):
        decode(to_workbook(*[("A123BC77",)] * 5))
