"""Files of results: one a partition, there as a whole or not at all."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from orchestrator.cli.archive.packages import load
from orchestrator.cli.archive.partitions import PREFIX, SUFFIX, is_part
from orchestrator.cli.archive.places import Place, ask
from orchestrator.cli.recognition.entry import COLUMNS, Row
from orchestrator.cli.recognition.parquet import NUMBERS, WHOLE

MORE = ("archive", "bytes")
"""Columns beside those of `plates recognize --parquet`: the folder that was named, and the size of
the picture's file."""
FAILED = ".failed"
"""How an empty file ends, beside one of results, that says that pictures of it failed. Its name
begins with a point: readers of Parquet pass over it."""


class Parts:
    """The folder that results go to."""

    def __init__(self, folder: Place) -> None:
        """Prepare it.

        Raises:
            SettingsError: It cannot be reached.
        """
        self._folder, self._storage = folder, folder.open()

    def find(self) -> set[str]:
        """Return the names of the files that are there.

        Raises:
            SettingsError: The folder cannot be read.
        """
        return set(filter(is_part, self._list()))

    def find_failed(self) -> set[str]:
        """Return the names of the files that have pictures which failed.

        Raises:
            SettingsError: The folder cannot be read.
        """
        noted = re.compile(rf"\.({PREFIX}\w+){re.escape(FAILED)}")
        return {f"{found[1]}{SUFFIX}" for found in map(noted.fullmatch, self._list()) if found}

    def read_failed(self, name: str) -> list[Row]:
        """Return the rows of a file that has pictures which failed; none of any other file.

        Raises:
            SettingsError: The folder cannot be read.
        """
        if not self._is_there(self._note_of(name)):
            return []
        try:
            with self._storage.open_input_file(self._folder.inside(name)) as file:
                table = load("pyarrow.parquet").read_table(file)
        except (OSError, ValueError):  # it is not there, or damaged: all is done again
            return []
        is_ours = table.schema == _schema(load("pyarrow"))
        return cast("list[Row]", table.to_pylist()) if is_ours else []

    def check_writable(self) -> None:
        """See that files can be written, before hours of work: one is, and is removed again.

        Raises:
            SettingsError: They cannot.
        """
        name = self._folder.inside(f".plates-{uuid.uuid4().hex}")
        if self._folder.is_on_disk:
            ask(self._folder, lambda: self._storage.create_dir(self._folder.path))
        ask(self._folder, partial(self._put, name, b""))
        ask(self._folder, lambda: self._storage.delete_file(name))

    def write(self, name: str, rows: Sequence[Row]) -> None:
        """Write a file; it is seen when all of it is there, and replaces one of its name.

        That some of its pictures failed is noted beside it: before it is there, so that a run that
        is killed in between does too much rather than too little.

        Raises:
            SettingsError: It cannot be written.
        """
        has_failures = any(row["error"] for row in rows)
        if has_failures:
            ask(self._folder, partial(self._put, self._note_of(name), b""))
        self._write(name, rows)
        if not has_failures:
            self._remove_if_there(self._note_of(name))

    def _write(self, name: str, rows: Sequence[Row]) -> None:
        pyarrow, buffer = load("pyarrow"), load("pyarrow").BufferOutputStream()
        table = pyarrow.Table.from_pylist([*rows], schema=_schema(pyarrow))
        load("pyarrow.parquet").write_table(table, buffer, compression="zstd")
        content, path = buffer.getvalue(), self._folder.inside(name)
        if not self._folder.is_on_disk:  # an object is there when its upload is complete
            ask(self._folder, partial(self._put, path, content))
            return
        aside = self._folder.inside(f".{name}-{uuid.uuid4().hex}")
        try:
            ask(self._folder, partial(self._put, aside, content))
            ask(self._folder, lambda: self._storage.move(aside, path))
        finally:
            with suppress(OSError):  # it is gone where all went well
                self._storage.delete_file(aside)

    def remove(self, name: str) -> None:
        """Remove a file, and the note that some of its pictures failed.

        Raises:
            SettingsError: It cannot be removed.
        """
        ask(self._folder, lambda: self._storage.delete_file(self._folder.inside(name)))
        self._remove_if_there(self._note_of(name))

    def _list(self) -> list[str]:
        selector = load("pyarrow.fs").FileSelector(self._folder.path, allow_not_found=True)
        inside = ask(self._folder, lambda: self._storage.get_file_info(selector))
        return [info.base_name for info in inside]

    def _note_of(self, name: str) -> str:
        return self._folder.inside(f".{name.removesuffix(SUFFIX)}{FAILED}")

    def _is_there(self, path: str) -> bool:
        return bool(ask(self._folder, lambda: self._storage.get_file_info(path)).is_file)

    def _remove_if_there(self, path: str) -> None:
        if self._is_there(path):
            ask(self._folder, lambda: self._storage.delete_file(path))

    def _put(self, path: str, content: Any) -> None:
        with self._storage.open_output_stream(path) as file:
            file.write(content)


def _schema(pyarrow: Any) -> Any:
    kinds = {
        **dict.fromkeys((*COLUMNS, *MORE), pyarrow.string()),
        **dict.fromkeys(WHOLE, pyarrow.int32()),
        **dict.fromkeys(NUMBERS, pyarrow.float32()),
        "bytes": pyarrow.int64(),
    }
    return pyarrow.schema([(name, kinds[name]) for name in (*COLUMNS, *MORE)])
