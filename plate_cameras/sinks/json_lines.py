"""A file that gets one event a line, as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import re
from io import FileIO
from itertools import pairwise
from pathlib import Path
from threading import Lock

from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import open_private, sync
from plate_cameras.configuration import Sink
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError

ROTATE_BYTES = "rotate_bytes"
"""Option: at this size the file is renamed to `NAME.1`, and older ones to `NAME.2` and so on."""
KEPT_FILES = "kept_files"
"""Option: number of such older files; 5 if it is not given."""


class JsonLinesReceiver:
    """Appends events to a file. Each is on the disk before it counts as delivered.

    A line that a crash or a full disk has cut off is removed before the next one is written.

    Args:
        sink: The sink, whose `url` is the path of the file.

    Raises:
        SettingsError: An option has a wrong value.
    """

    def __init__(self, sink: Sink) -> None:
        self._path = Path(sink.url)
        self._rotate_bytes = _read_number(sink, ROTATE_BYTES, 0)
        self._kept_files = _read_number(sink, KEPT_FILES, 5, min_value=1)
        self._lock = Lock()
        self._is_named = False

    async def send(self, delivery: Delivery) -> None:
        """Append one event, see `Receiver`."""
        document = {"id": delivery.id, **delivery.document}
        line = json.dumps(document, ensure_ascii=False).encode() + b"\n"
        try:
            await asyncio.to_thread(self._append, line)
        except OSError as error:
            raise DeliveryError(f"cannot write: {error.strerror or error}") from error

    async def idle(self) -> None:
        """Do nothing: the file is closed after each line."""

    async def close(self) -> None:
        """Do nothing: the file is closed after each line."""

    def _append(self, line: bytes) -> None:
        if not self._lock.acquire(blocking=False):
            raise DeliveryError("cannot write: the disk has not answered for the line before")
        try:
            _make_folder(self._path.parent)
            size = self._path.stat().st_size if self._path.exists() else 0
            if size and self._rotate_bytes and size + len(line) > self._rotate_bytes:
                self._rotate()
            self._is_named &= self._path.exists()  # somebody else may have moved it
            with self._open() as file:
                _cut_torn_line(file.fileno())
                while line:
                    line = line[os.write(file.fileno(), line) :]
                os.fsync(file.fileno())
            if not self._is_named:
                sync(self._path.parent)
                self._is_named = True
        finally:
            self._lock.release()

    def _open(self) -> FileIO:
        return FileIO(self._path, "ab+", opener=open_private)

    def _rotate(self) -> None:
        """Rename the file and the older ones; the oldest is replaced."""
        with self._open() as file:
            _cut_torn_line(file.fileno())
        older_paths = (
            self._path.with_name(f"{self._path.name}.{number}")
            for number in range(1, self._kept_files + 1)
        )
        for newer, older in reversed([*pairwise([self._path, *older_paths])]):
            if newer.exists():
                newer.replace(older)


def _read_number(sink: Sink, name: str, default: int, *, min_value: int = 0) -> int:
    text = str(sink.options.get(name, default))
    if not re.fullmatch("[0-9]{1,18}", text) or int(text) < min_value:
        raise SettingsError(
            f"sink {sink.name}: {name}: wanted a whole number of at least {min_value}, got {text!r}"
        )
    return int(text)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def _cut_torn_line(file: int) -> None:
    """Remove what stands after the last line end."""
    size = os.fstat(file).st_size
    end = size
    while end:
        start = max(0, end - 4096)
        block = os.pread(file, end - start, start)
        if (at := block.rfind(b"\n")) >= 0:
            end = start + at + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)
