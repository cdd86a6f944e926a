"""Files of results: one for each partition, written completely or not at all.

On a disk each is synced before it gets its name, and the folder after that: a power cut leaves no
file that is there but not whole.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from orchestrator.cli.archive.listing import PREFIX, SUFFIX, is_part
from orchestrator.cli.archive.storage import StorageFolder, call_storage, load
from orchestrator.cli.recognition.parquet import NUMBERS, WHOLE
from orchestrator.cli.recognition.result_entry import COLUMNS, OF_COUNTRIES, Row
from orchestrator.host.disk_files import sync

MORE = ("archive", "bytes")
"""Columns that `plates recognize --parquet` does not have: the archive's folder, and the size of
the picture's file."""
ARCHIVED = (*(name for name in COLUMNS if name not in OF_COUNTRIES), *MORE)
"""Columns of the files. Those about countries are left out: a folder may have files of earlier
versions, and programs read all of them as one table."""
FAILED = ".failed"
"""Suffix of an empty file beside a file of results, some of whose pictures failed. Its name begins
with a point, so that readers of Parquet ignore it."""


class ResultParts:
    """The folder of the results."""

    def __init__(self, folder: StorageFolder) -> None:
        """Prepare the folder.

        Raises:
            SettingsError: It cannot be reached.
        """
        self._folder, self._storage = folder, folder.open()

    def find(self) -> set[str]:
        """Return the names of the files of results.

        Raises:
            SettingsError: The folder cannot be read.
        """
        return set(filter(is_part, self._list()))

    def find_failed(self) -> set[str]:
        """Return the names of the files that have failed pictures.

        Raises:
            SettingsError: The folder cannot be read.
        """
        pattern = re.compile(rf"\.({PREFIX}\w+){re.escape(FAILED)}")
        return {f"{match[1]}{SUFFIX}" for match in map(pattern.fullmatch, self._list()) if match}

    def read_failed(self, name: str) -> list[Row]:
        """Return the rows of a file that has failed pictures; no rows for any other file.

        Raises:
            SettingsError: The folder cannot be read.
        """
        if not self._is_there(self._note_of(name)):
            return []
        try:
            with self._storage.open_input_file(self._folder.inside(name)) as file:
                table = load("pyarrow.parquet").read_table(file)
        except (OSError, ValueError):  # missing or damaged: all of it is done again
            return []
        is_ours = table.schema == _schema(load("pyarrow"))
        return cast("list[Row]", table.to_pylist()) if is_ours else []

    def check_writable(self) -> None:
        """Check that files can be written, before hours of work, by writing and removing one.

        Raises:
            SettingsError: They cannot be written.
        """
        name = self._folder.inside(f".plates-{uuid.uuid4().hex}")
        if self._folder.is_on_disk:
            call_storage(self._folder, lambda: self._make_folder(Path(self._folder.path)))
        call_storage(self._folder, partial(self._put, name, b""))
        call_storage(self._folder, lambda: self._storage.delete_file(name))

    def write(self, name: str, rows: Sequence[Row]) -> None:
        """Write a file; it appears when it is complete, and replaces a file of the same name.

        The mark for failed pictures is written before the file itself. A run that is killed between
        the two then repeats work, but loses none.

        Raises:
            SettingsError: It cannot be written.
        """
        has_failures = any(row["error"] for row in rows)
        if has_failures:
            call_storage(self._folder, partial(self._put, self._note_of(name), b""))
            self._sync_names()
        self._write(name, rows)
        if not has_failures:
            self._remove_if_there(self._note_of(name))

    def _write(self, name: str, rows: Sequence[Row]) -> None:
        pyarrow, buffer = load("pyarrow"), load("pyarrow").BufferOutputStream()
        table = pyarrow.Table.from_pylist([*rows], schema=_schema(pyarrow))
        load("pyarrow.parquet").write_table(table, buffer, compression="zstd")
        content, path = buffer.getvalue(), self._folder.inside(name)
        if not self._folder.is_on_disk:  # an object appears when its upload is complete
            call_storage(self._folder, partial(self._put, path, content))
            return
        temporary_path = self._folder.inside(f".{name}-{uuid.uuid4().hex}")
        try:
            call_storage(self._folder, partial(self._put, temporary_path, content))
            call_storage(self._folder, lambda: self._storage.move(temporary_path, path))
            self._sync_names()
        finally:
            with suppress(OSError):  # the file is gone after a success
                self._storage.delete_file(temporary_path)

    def remove(self, name: str) -> None:
        """Remove a file, and the mark of its failed pictures.

        Raises:
            SettingsError: It cannot be removed.
        """
        call_storage(self._folder, lambda: self._storage.delete_file(self._folder.inside(name)))
        self._sync_names()
        self._remove_if_there(self._note_of(name))

    def _list(self) -> list[str]:
        selector = load("pyarrow.fs").FileSelector(self._folder.path, allow_not_found=True)
        infos = call_storage(self._folder, lambda: self._storage.get_file_info(selector))
        return [info.base_name for info in infos]

    def _note_of(self, name: str) -> str:
        return self._folder.inside(f".{name.removesuffix(SUFFIX)}{FAILED}")

    def _is_there(self, path: str) -> bool:
        return bool(call_storage(self._folder, lambda: self._storage.get_file_info(path)).is_file)

    def _remove_if_there(self, path: str) -> None:
        if self._is_there(path):
            call_storage(self._folder, lambda: self._storage.delete_file(path))
            self._sync_names()

    def _put(self, path: str, content: Any) -> None:
        with self._storage.open_output_stream(path) as file:
            file.write(content)
        if self._folder.is_on_disk:
            sync(path)

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folder(folder.parent)
            folder.mkdir(exist_ok=True)
            sync(folder.parent)

    def _sync_names(self) -> None:
        if self._folder.is_on_disk:
            call_storage(self._folder, lambda: sync(self._folder.path))


def _schema(pyarrow: Any) -> Any:
    kinds = {
        **dict.fromkeys(ARCHIVED, pyarrow.string()),
        **dict.fromkeys(WHOLE, pyarrow.int32()),
        **dict.fromkeys(NUMBERS, pyarrow.float64()),
        "bytes": pyarrow.int64(),
    }
    return pyarrow.schema([(name, kinds[name]) for name in ARCHIVED])
