"""Decodes files of plates: CSV in the encodings of Excel, and workbooks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import datetime, time
from xml.parsers import expat
from zipfile import ZipFile

from orchestrator.errors import ParameterError
from plate_cameras.store.lists.list_editions import MAX_ENTRIES

MAX_FILE_BYTES = 16 * 2**20
MAX_WORKBOOK_BYTES = 128 * 2**20
"""Largest size of a workbook's parts when they are unpacked."""
MAX_PROLOG_BYTES = 65536
"""Largest part of a document before its outermost element. A document type would stand there."""
MAX_CELLS = 20
"""Largest number of cells of a workbook's row that are looked at."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
WORKBOOK, OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def decode(content: bytes) -> str:
    """Return the CSV of a file: UTF-8, UTF-16 with its mark, Windows-1251, or a workbook (.xlsx).

    Raises:
        ParameterError: It is too long, or no such file.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ParameterError(f"file: wanted at most {MAX_FILE_BYTES} bytes, got {len(content)}")
    if content.startswith(WORKBOOK):
        return _read_workbook(content)
    if content.startswith(OLD_WORKBOOK):
        raise ParameterError("file: wanted CSV or .xlsx, got .xls; save it as CSV in Excel")
    if content.startswith(UTF_16):
        text = content.decode("utf-16", errors="replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1251", errors="replace")
    if "\0" in text or "\ufffd" in text:
        raise ParameterError("file: wanted CSV in UTF-8, UTF-16 or Windows-1251, got other bytes")
    return text


def _read_workbook(content: bytes) -> str:
    """Return the first sheet of a workbook as CSV with tabs; its lines are the sheet's rows."""
    try:
        import openpyxl
    except ImportError as error:
        need = "CSV, or plates-cameras[excel] for workbooks"
        raise ParameterError(f"file: wanted {need}, got .xlsx; save it as CSV") from error
    try:
        _check_parts(content)
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # some programs write wrong ones
        return _to_csv(sheet.iter_rows(max_col=MAX_CELLS, values_only=True))
    except ParameterError:
        raise
    except Exception as error:  # of four libraries
        raise ParameterError(
            f"file: wanted CSV or .xlsx, got a damaged workbook: {error}"
        ) from error


def _check_parts(content: bytes) -> None:
    """Check the parts of a workbook before they are unpacked.

    Raises:
        ParameterError: They are too large, or one may define entities: a few bytes for much text.
    """
    with ZipFile(io.BytesIO(content)) as parts:
        # Python's zipfile reads no more of a part than its size in the directory.
        unpacked_bytes = sum(part.file_size for part in parts.infolist())
        if unpacked_bytes > MAX_WORKBOOK_BYTES:
            limit = f"at most {MAX_WORKBOOK_BYTES} bytes when unpacked"
            raise ParameterError(f"file: wanted {limit}, got {unpacked_bytes}")
        for part in parts.infolist():
            with parts.open(part) as file:
                if not _begins_plainly(file.read(MAX_PROLOG_BYTES)):
                    limit = "a workbook without document types"
                    raise ParameterError(f"file: wanted {limit}, got {part.filename[:100]!r}")


def _begins_plainly(start: bytes) -> bool:
    """Tell whether the start of a file is that of an element, or of no document at all."""
    elements: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, _: elements.append(name)
    parser.StartDoctypeDeclHandler = lambda *_: elements.append("")
    try:
        parser.Parse(start, len(start) < MAX_PROLOG_BYTES)
    except (expat.ExpatError, LookupError, ValueError):  # such as a picture
        return "" not in elements
    return not start or bool(elements and elements[0])


def _to_csv(rows: Iterable[Iterable[object]]) -> str:
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
    for count, row in enumerate(rows, 1):
        if count > MAX_ENTRIES + 1:  # and its header
            raise ParameterError(f"rows: wanted at most {MAX_ENTRIES}, got more")
        writer.writerow(map(_to_cell, row))
    return lines.getvalue()


def _to_cell(value: object) -> str:
    """Return a cell in one line. A date of Excel has a time; midnight is the date alone."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        is_day = value.time() == time.min
        return value.strftime("%d.%m.%Y" if is_day else "%d.%m.%Y %H:%M:%S")
    return " ".join(str(value).split("\n"))
