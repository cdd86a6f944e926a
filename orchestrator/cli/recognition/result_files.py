"""Files of results: JSON lines and CSV, written as pictures are done, read again to go on."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Protocol, TextIO

from orchestrator.cli.recognition.entry import COLUMNS, Entry
from orchestrator.errors import SettingsError

DIGITS = 4
"""Behind the point, of scores and pixels in CSV files."""
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a text begins that a spreadsheet takes for a formula. A CSV file has an apostrophe before it.

Source: OWASP, "CSV Injection". A text with apostrophes of its own gets one more, so that the name
of a picture can be read again."""
MARKED = re.compile(r"^'(?='*[=+\-@\t\r])")
"""The apostrophe that a CSV file has before such a text."""
Kept = tuple[str, str]
"""The name of a picture that has an answer in a file, and the text of that answer."""


class Results(Protocol):
    """Takes what came of each picture, in order."""

    def write(self, entry: Entry) -> None:
        """Take it; a file holds it when this returns."""

    def close(self) -> None:
        """End with what was taken."""


class Layout(Protocol):
    """How results stand in a file, and are found there again."""

    head: str

    def to_text(self, entry: Entry) -> str:
        """Return the lines of a picture."""

    def read(self, lines: Iterator[str]) -> Iterator[Kept]:
        """Yield the answers that are whole; pictures that failed have none."""


class JsonLines:
    """A JSON object a picture, one a line."""

    head = ""

    def to_text(self, entry: Entry) -> str:
        return f"{entry.to_line()}\n"

    def read(self, lines: Iterator[str]) -> Iterator[Kept]:
        for line in lines:
            with suppress(ValueError):  # a line that was cut off
                entry = json.loads(line)
                if isinstance(entry, dict) and "picture" in entry and "error" not in entry:
                    yield entry["picture"], line


class Csv:
    """A row a plate; a picture without plates has one, too."""

    head = ",".join(COLUMNS) + "\n"

    def to_text(self, entry: Entry) -> str:
        return "".join(_to_line(map(_to_cell, row.values())) for row in entry.to_rows())

    def read(self, lines: Iterator[str]) -> Iterator[Kept]:
        if next(lines, self.head) != self.head:
            raise SettingsError(f"wanted a CSV file that begins {self.head.strip()}, got another")
        rows = (dict(zip(COLUMNS, row, strict=True)) for row in _whole(csv.reader(lines)))
        for picture, group in groupby(rows, lambda row: row["picture"]):
            kept = [row for row in group if row["plates"]]  # those of failed pictures say none
            if kept and kept[-1]["plate"] == kept[-1]["plates"]:
                yield MARKED.sub("", picture), "".join(_to_line(row.values()) for row in kept)


def _to_line(row: Iterable[object]) -> str:
    """Return a row as a line; before Python 3.13 only this ending has carriage returns quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(row)
    return line.getvalue().removesuffix("\r\n") + "\n"


def _to_cell(value: object) -> object:
    if isinstance(value, str) and FORMULA.match(value):
        return f"'{value}"
    return round(value, DIGITS) if isinstance(value, float) else value


def _whole(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    return (row for row in rows if len(row) == len(COLUMNS))


class ResultFile:
    """A file of results that is written as pictures are done."""

    def __init__(self, path: Path, layout: Layout) -> None:
        """Open a file, new or to go on with.

        Raises:
            SettingsError: It cannot be written.
        """
        self._path, self._layout = path, layout
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_text(path, "a")
            if not self._file.tell():
                self._file.write(layout.head)
        except OSError as error:
            raise _unwritable(path, error) from error

    def write(self, entry: Entry) -> None:
        try:
            self._file.write(self._layout.to_text(entry))
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        with suppress(OSError):  # of a full disk, which was told
            self._file.close()


def find_done(files: Sequence[tuple[Path, Layout]]) -> set[str]:
    """Return the names of the pictures that every file has an answer for, and keep only these.

    What failed, and what was cut off when a run was killed, is dropped: it is done again.

    Args:
        files: All of them are there, or none is yet.

    Raises:
        SettingsError: One of several is not there, is not of this kind, or cannot be written.
    """
    there = [path for path, _ in files if path.exists()]
    if not there:
        return set()
    if len(there) < len(files):
        gone = next(path for path, _ in files if path not in there)
        raise SettingsError(f"--resume: {there[0]} is there and {gone} is not; name what is there")
    try:
        names = [{name for name, _ in _read(path, layout)} for path, layout in files]
        done = set.intersection(*names)
        for path, layout in files:
            _keep(path, layout, done)
    except OSError as error:
        raise _unwritable(Path(error.filename or there[0]), error) from error
    return done


def _read(path: Path, layout: Layout) -> Iterator[Kept]:
    with open_text(path, "r") as file:
        whole = (line for line in file if line.endswith("\n"))
        try:
            yield from layout.read(whole)
        except (SettingsError, csv.Error) as error:
            raise SettingsError(f"--resume: {path}: {error}") from error


def _keep(path: Path, layout: Layout, done: set[str]) -> None:
    """Write a file anew with what is done alone; it is the old one until it is whole."""
    part = path.resolve().with_name(f"{path.name}.part")
    with open_text(part, "w") as file:
        file.write(layout.head)
        file.writelines(text for name, text in _read(path, layout) if name in done)
    os.replace(part, path.resolve())  # noqa: PTH105 - its error names both files


def check_new(path: Path) -> None:
    """See that a file of results takes no other's place.

    Raises:
        SettingsError: There is a file of that name that is not empty.
    """
    if path.exists() and path.stat().st_size:
        raise SettingsError(
            f"{path} is there already: --resume goes on with it, another name begins anew"
        )


def open_text(path: Path, mode: str) -> TextIO:
    """Open a file of results: names of files that are no UTF-8 keep their bytes."""
    return path.open(mode, encoding="utf-8", errors="surrogateescape", newline="\n")  # type: ignore[return-value]


def _unwritable(path: Path, error: OSError) -> SettingsError:
    return SettingsError(f"{path}: cannot be written: {error.strerror or error}")
