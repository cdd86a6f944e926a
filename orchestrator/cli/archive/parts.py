"""Files of results: one a partition, there as a whole or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from orchestrator.cli.archive.packages import load
from orchestrator.cli.archive.partitions import is_part
from orchestrator.cli.archive.places import Place, ask
from orchestrator.cli.recognition.entry import COLUMNS, Row
from orchestrator.cli.recognition.parquet import NUMBERS, WHOLE

MORE = ("archive", "bytes")
"""Columns beside those of `plates recognize --parquet`: the folder that was named, and the size of
the picture's file."""


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
        selector = load("pyarrow.fs").FileSelector(self._folder.path, allow_not_found=True)
        inside = ask(self._folder, lambda: self._storage.get_file_info(selector))
        return {info.base_name for info in inside if is_part(info.base_name)}

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

    def write(self, name: str, rows: Iterable[Row]) -> None:
        """Write a file; it is seen when all of it is there, and replaces one of its name.

        Raises:
            SettingsError: It cannot be written.
        """
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
        """Remove a file.

        Raises:
            SettingsError: It cannot be removed.
        """
        ask(self._folder, lambda: self._storage.delete_file(self._folder.inside(name)))

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
