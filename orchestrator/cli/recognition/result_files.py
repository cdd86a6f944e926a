"""Result files: JSON lines and CSV, written picture by picture, and read again to continue."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeGuard

from orchestrator.cli.recognition.file_words import FileWords
from orchestrator.cli.recognition.result_entry import COLUMNS, Entry
from orchestrator.cli.standard_streams import check_output
from orchestrator.errors import SettingsError
from orchestrator.host.csv_cells import PLAIN, CsvForm

STANDARD_OUTPUT = Path("-")
StoredAnswer = tuple[str, str]
"""The name of a picture with an answer in a file, and the text of that answer."""


class Results(Protocol):
    """Accepts the result of each picture, in order."""

    def write(self, entry: Entry) -> None:
        """Accept a result; when this returns, the file holds it."""

    def close(self) -> None:
        """Finish with the accepted results."""


class Layout(Protocol):
    """The format of results in a file, for writing and reading."""

    head: str

    def check(self, first_line: str) -> None:
        """Check that a file with this first line, maybe an incomplete one, has this format.

        Raises:
            SettingsError: It has another; to go on would destroy it.
        """

    def to_text(self, entry: Entry) -> str:
        """Return the lines of a picture."""

    def read(self, lines: Iterator[str]) -> Iterator[StoredAnswer]:
        """Yield the complete answers; failed pictures have none."""


class JsonLines:
    """A JSON object for each picture, one a line."""

    head = ""

    def check(self, first_line: str) -> None:
        try:
            is_ours = _is_result(json.loads(first_line))
        except ValueError:
            is_ours = first_line.startswith("{") and not first_line.endswith("\n")
        if first_line and not is_ours:
            raise SettingsError("wanted a file of JSON lines with pictures, got another")

    def to_text(self, entry: Entry) -> str:
        return f"{entry.to_line()}\n"

    def read(self, lines: Iterator[str]) -> Iterator[StoredAnswer]:
        for line in lines:
            with suppress(ValueError):  # an incomplete line
                entry = json.loads(line)
                if _is_result(entry) and "error" not in entry:
                    yield entry["picture"], line


class Csv:
    """A row for each plate; a picture without plates also has one."""

    def __init__(self, form: CsvForm = PLAIN, words: FileWords | None = None) -> None:
        self._form, self._words = form, words or FileWords()
        self.head = form.mark + self._to_line(self._words.titles)

    def check(self, first_line: str) -> None:
        is_incomplete = not first_line.endswith("\n") and self.head.startswith(first_line)
        if first_line != self.head and not is_incomplete:
            raise SettingsError(f"wanted a CSV file that begins {self.head.strip()}, got another")

    def to_text(self, entry: Entry) -> str:
        rows = map(self._words.translate, entry.to_rows())
        return "".join(self._to_line(map(self._form.to_cell, row.values())) for row in rows)

    def read(self, lines: Iterator[str]) -> Iterator[StoredAnswer]:
        next(lines, None)  # the titles
        rows = (dict(zip(COLUMNS, row, strict=True)) for row in _whole(self._cells(lines)))
        for picture, group in groupby(rows, lambda row: row["picture"]):
            # rows of failed pictures have no number
            answers = [row for row in group if row["plates"]]
            if answers and answers[-1]["plate"] == answers[-1]["plates"]:
                lines_kept = "".join(self._to_line(row.values()) for row in answers)
                yield self._form.from_cell(picture), lines_kept

    def _cells(self, lines: Iterator[str]) -> Iterator[list[str]]:
        return csv.reader(lines, delimiter=self._form.separator)

    def _to_line(self, row: Iterable[object]) -> str:
        """Return a row as a line.

        Before Python 3.13, only the usual line ending quotes carriage returns.
        """
        return self._form.to_lines([row], "\n")


def _is_result(entry: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(entry, dict) and "picture" in entry


def _whole(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    return (row for row in rows if len(row) == len(COLUMNS))


class ResultFile:
    """A result file that is written picture by picture."""

    def __init__(self, path: Path, layout: Layout) -> None:
        """Open a file, new or to continue.

        Raises:
            SettingsError: It cannot be written, or another command writes it.
        """
        self._path, self._layout = path, layout
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as stack:
                self._file = stack.enter_context(open_text(path, "a"))
                _lock(self._file, path)
                if path == STANDARD_OUTPUT or not self._file.tell():
                    self._file.write(layout.head)
                stack.pop_all()  # it stays open
        except OSError as error:
            raise _unwritable(path, error) from error

    def write(self, entry: Entry) -> None:
        try:
            self._file.write(self._layout.to_text(entry))
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        with suppress(OSError):  # from a full disk, which was reported already
            self._file.close()


def find_done(files: Sequence[tuple[Path, Layout]]) -> set[str]:
    """Remove the pictures that do not have an answer in every file; return the names of the others.

    Failed pictures, and lines that a killed run left incomplete, are removed and done again.

    Args:
        files: Either all of them exist, or none.

    Raises:
        SettingsError: One of several is missing, has another format, cannot be written, or another
            command writes it.
    """
    paths = [path for path, _ in files if path.exists()]
    if not paths:
        return set()
    if len(paths) < len(files):
        missing_path = next(path for path, _ in files if path not in paths)
        raise SettingsError(
            f"--resume: {paths[0]} is there and {missing_path} is not; name what is there"
        )
    try:
        for path in paths:
            with open_text(path, "r") as file:
                _lock(file, path)
        names = [{name for name, _ in _read(path, layout)} for path, layout in files]
        finished_names = set.intersection(*names)
        for path, layout in files:
            _keep(path, layout, finished_names)
    except OSError as error:
        raise _unwritable(Path(error.filename or paths[0]), error) from error
    return finished_names


def _read(path: Path, layout: Layout) -> Iterator[StoredAnswer]:
    with open_text(path, "r") as file:
        whole_lines = (line for line in file if line.endswith("\n"))
        try:
            layout.check(file.readline())
            file.seek(0)
            yield from layout.read(whole_lines)
        except (SettingsError, csv.Error) as error:
            raise SettingsError(f"--resume: {path}: {error}") from error


def _keep(path: Path, layout: Layout, names: set[str]) -> None:
    """Rewrite a file with only the finished pictures; the old one stays until it is complete."""
    part = path.resolve().with_name(f"{path.name}.part")
    try:
        with open_text(part, "w") as file:
            file.write(layout.head)
            file.writelines(text for name, text in _read(path, layout) if name in names)
        os.replace(part, path.resolve())  # noqa: PTH105 - its error names both files
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _lock(file: TextIO, path: Path) -> None:
    """Lock a file against other commands until it is closed.

    Raises:
        SettingsError: Another command writes it.
    """
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SettingsError(f"{path}: another command writes it at the moment") from error
    except OSError:  # disks of other machines may know no locks
        return


def check_new(path: Path) -> None:
    """Check that a result file overwrites no other file.

    Raises:
        SettingsError: A file of that name exists and is not empty, or it is a folder.
    """
    if path.is_dir():
        raise SettingsError(f"{path}: wanted the name of a file for results, got a folder")
    if path != STANDARD_OUTPUT and path.exists() and path.stat().st_size:
        raise SettingsError(
            f"{path} is there already: --resume goes on with it, another name begins anew"
        )


def open_text(path: Path, mode: str) -> TextIO:
    """Open a result file; file names that are not UTF-8 keep their bytes.

    Raises:
        OSError: It cannot be opened, or standard output is closed.
    """
    options = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}
    if path == STANDARD_OUTPUT:
        check_output()
        return os.fdopen(os.dup(1), "w", **options)  # type: ignore[call-overload,no-any-return]
    return path.open(mode, **options)  # type: ignore[call-overload,no-any-return]


def _unwritable(path: Path, error: OSError) -> SettingsError:
    return SettingsError(f"{path}: cannot be written: {error.strerror or error}")
