"""Reads files of plates: CSV as our exports, Excel and offices write it, or one plate a line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import partial
from itertools import chain

from orchestrator.errors import ParameterError
from orchestrator.host.csv_cells import BYTE_ORDER_MARK, EXCEL, PLAIN, CsvForm
from plate_cameras.store.lists.doubtful_texts import ACCEPT, explain_doubt
from plate_cameras.store.lists.file_contents import MAX_FILE_BYTES
from plate_cameras.store.lists.list_editions import MAX_ENTRIES
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.lists.plate_entries import COLUMNS, check_entry

MAX_FILE_ROWS = MAX_ENTRIES
"""Largest number of rows of a file. Its entries are one list."""
MAX_PROBLEMS = 20
"""Largest number of lines that an error names."""
LAST_S = 253402300799.0
"""Last second of the year 9999. No later time can be shown."""
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
ISO_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)
RUSSIAN_TIME = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? +(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
EXCEL_SEPARATOR = re.compile(r"[\"]?sep=(.)[\"]?(?:\r\n?|\n)", re.IGNORECASE)
"""A first line by which Excel is told the separator."""
FORMS = (EXCEL, CsvForm("\t", splits=",;\n"), PLAIN)
UNNAMED = COLUMNS[:2]
"""Columns of a file without a header."""
TITLES = {
    "text": """номер номера госномер госномера государственныйномер госзнак грз номеравто
        номеравтомобиля номертс номермашины номернойзнак регзнак регномер регистрационныйномер
        регистрационныйзнак plate plates number numberplate licenseplate""",
    "note": "примечание примечания комментарий заметка описание notes comment remark",
    "valid_from": "действует\u0441 действителен\u0441 датаначала начало \u0441 from",
    "valid_until": """действуетдо действителендо действительнодо датаокончания окончание
        срокдействия срок до until""",
    "edits": "совпадение отличия написание spelling",
}
"""Titles that files give each column, in small letters without blanks and points."""
NAMES = {
    **{name.replace("_", ""): name for name in COLUMNS},
    **{title: name for name, titles in TITLES.items() for title in titles.split()},
}
"""Columns by their titles."""
TEMPLATES = {
    "en": ("plate", "note", "valid from", "valid until", "spelling"),
    "ru": ("номер", "примечание", "действует \u0441", "действует до", "совпадение"),
}
"""Names of the columns of an empty file, by language."""


def make_template(language: str) -> str:
    """Return an empty file in the form of Excel, with the names of the columns."""
    return EXCEL.mark + EXCEL.to_lines([TEMPLATES[language]], "\r\n")


@dataclass(frozen=True)
class FileRow:
    """A row of a file that is not empty.

    Attributes:
        line: Its line.
        typed_text: Its plate as the file has it.
        entry: Its entry; None if it is wrong.
        problem: The reason why it is wrong or doubtful; `""` for neither.
    """

    line: int
    typed_text: str
    entry: ListEntry | None
    problem: str = ""


def parse_csv(
    content: str, *, accepts_doubtful: bool = False, zone: tzinfo | None = None
) -> dict[str, ListEntry]:
    """Return the entries of a file, by text; the last row counts.

    Args:
        content: The file.
        accepts_doubtful: True if texts that are on no plate are taken.
        zone: The time zone of its days; None for that of this machine.

    Raises:
        ParameterError: Rows are wrong or doubtful, or there are too many; the message has the
            lines.
    """
    rows = [*read_rows(content, zone)]
    _check(rows, accepts_doubtful=accepts_doubtful)
    return {row.entry.text: row.entry for row in rows if row.entry}


def _check(rows: Sequence[FileRow], *, accepts_doubtful: bool) -> None:
    """Raise a ParameterError for the first rows that cannot be taken."""
    wrong = [row for row in rows if row.entry is None]
    faults = wrong or ([] if accepts_doubtful else [row for row in rows if row.problem])
    if not faults:
        return
    lines = [f"line {row.line}: {row.problem}" for row in faults[:MAX_PROBLEMS]]
    hidden_count = len(faults) - len(lines)
    endings = [f"{hidden_count} more lines"] * (hidden_count > 0) + [ACCEPT] * (not wrong)
    raise ParameterError("; ".join(lines + endings))


def read_rows(content: str, zone: tzinfo | None = None) -> Iterator[FileRow]:
    """Read the rows of a file, one by one. The first line that is not empty has the form.

    Args:
        content: The file.
        zone: The time zone of its days; None for that of this machine.

    Raises:
        ParameterError: The columns are unknown, or there are too many rows.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ParameterError(f"file: wanted at most {MAX_FILE_BYTES} bytes, got {len(content)}")
    form, start = _find_form(content)
    lines = (line.group() for line in LINE.finditer(content, start))
    skipped_lines = int(start > 1)  # the line with the separator, and not the byte order mark alone
    rows = csv.reader(lines, strict=True, delimiter=form.separator)
    to_row = partial(_to_row, form, zone)
    try:
        columns, filled_rows = _read_columns(rows)
        for count, row in enumerate(filled_rows, 1):
            line = skipped_lines + rows.line_num
            if count > MAX_FILE_ROWS:
                raise ParameterError(f"line {line}: rows: wanted at most {MAX_FILE_ROWS}, got more")
            yield to_row(line, columns, row)
    except csv.Error as error:  # the rest cannot be divided into rows
        limit = f"quotes in pairs and at most {csv.field_size_limit()} characters"
        problem = f"cells: wanted {limit}, got: {error}"
        yield FileRow(skipped_lines + max(rows.line_num, 1), "", None, problem)


def _find_form(content: str) -> tuple[CsvForm, int]:
    """Return the form of a file, and the place at which its rows begin."""
    start = int(content.startswith(BYTE_ORDER_MARK))
    separator = EXCEL_SEPARATOR.match(content, start)
    if separator:
        form = next((form for form in FORMS if form.separator == separator[1]), PLAIN)
        return form, separator.end()
    first = re.compile(r"[^\s,;][^\r\n]*").search(content, start)
    line = first.group() if first else ""
    return next((form for form in FORMS if form.separator in line), PLAIN), start


def _to_row(
    form: CsvForm, zone: tzinfo | None, line: int, columns: Sequence[str], row: Sequence[str]
) -> FileRow:
    typed_text = ""
    try:
        cells = _name_cells(columns, row)
        typed_text = cells.get("text", "")
        entry = _to_entry(cells, form, zone)
        return FileRow(line, typed_text, entry, explain_doubt(entry.text, typed_text))
    except ParameterError as error:
        return FileRow(line, typed_text, None, str(error))


def _read_columns(rows: Iterator[list[str]]) -> tuple[Sequence[str], Iterator[list[str]]]:
    """Return the names of the columns, and the rows that are not empty."""
    filled_rows = (row for row in rows if any(map(str.strip, row)))
    head = next(filled_rows, [])
    names = [NAMES.get(_fold(cell), cell.strip()) for cell in head]
    while names and not names[-1]:
        names.pop()
    if "text" in names and not set(names) - set(COLUMNS) and len({*names}) == len(names):
        return names, filled_rows
    if names and len(names) <= len(UNNAMED) and any(map(str.isdigit, names[0])):
        return UNNAMED, chain([head], filled_rows)
    raise ParameterError(f"columns: wanted {', '.join(COLUMNS)}, got {', '.join(names)[:200]}")


def _fold(cell: str) -> str:
    return re.sub(r"[\s._-]+", "", cell).casefold()


def _name_cells(columns: Sequence[str], row: Sequence[str]) -> Mapping[str, str]:
    if any(map(str.strip, row[len(columns) :])):
        raise ParameterError(f"cells: wanted at most {len(columns)}, got {len(row)}")
    return {name: cell.strip() for name, cell in zip(columns, row, strict=False)}


def _to_entry(cells: Mapping[str, str], form: CsvForm, zone: tzinfo | None) -> ListEntry:
    return check_entry(
        ListEntry(
            cells.get("text", ""),
            form.from_cell(cells.get("note", "")),
            _to_unix("valid_from", cells.get("valid_from"), zone),
            _to_unix("valid_until", cells.get("valid_until"), zone),
            _to_edits(cells.get("edits")),
        )
    )


def _to_edits(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError as error:
        raise ParameterError(f"edits: wanted 0, 1 or 2, got {text!r}") from error


def _to_unix(column: str, text: str | None, zone: tzinfo | None) -> float | None:
    """Return a time as Unix time. A date alone is a day of local time, to its end for an end.

    An RFC 3339 time without an offset is UTC; 31.12.2027 18:00 is local time.
    """
    if not text:
        return None
    try:
        if match := RUSSIAN_TIME.fullmatch(text):
            day, month, year, *clock = (int(part or 0) for part in match.groups())
            if match[4] is None:
                return day_bound(date(year, month, day), is_end=column == "valid_until", zone=zone)
            hour, minute, second = clock
            at = datetime(year, month, day, hour, minute, second, tzinfo=zone)
            return at.timestamp()  # without a zone it is local time
        if ISO_DAY.fullmatch(text):
            return day_bound(date.fromisoformat(text), is_end=column == "valid_until", zone=zone)
        if not ISO_TIME.fullmatch(text):  # Python 3.11 also takes weeks, and days without hyphens
            raise ValueError
        at = datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError) as error:
        forms = "a date such as 2026-12-31 or 31.12.2026, or an RFC 3339 time"
        raise ParameterError(f"{column}: wanted {forms}, got {text!r}") from error


def day_bound(day: date, *, is_end: bool, zone: tzinfo | None = None) -> float:
    """Return the Unix time at which a day of local time starts or ends."""
    if is_end and day == date.max:
        return LAST_S
    day += timedelta(days=is_end)
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
