"""A file that gets one event a line, as JSON."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from orchestrator.cameras.configuration import Sink
from orchestrator.cameras.sinks.outbox import Delivery
from orchestrator.cameras.sinks.receiver import DeliveryError

ROTATE_BYTES = "rotate_bytes"
"""Option: at this size the file is renamed to `NAME.1`, and older ones to `NAME.2` and so on."""
KEPT = "kept_files"
"""Option: number of such older files; 5 if it is not given."""


class JsonLinesReceiver:
    """Appends events to a file. Each is on the disk before it counts as delivered.

    A line that a crash or a full disk has cut off is removed before the next one is written.

    Args:
        sink: The sink, whose `url` is the path of the file.
    """

    def __init__(self, sink: Sink) -> None:
        self._path = Path(sink.url)
        self._rotate_bytes = int(sink.options.get(ROTATE_BYTES, 0))
        self._kept = int(sink.options.get(KEPT, 5))

    async def send(self, delivery: Delivery) -> None:
        """Append one event, see `Receiver`."""
        document = {"id": delivery.id, **delivery.document}
        line = json.dumps(document, ensure_ascii=False).encode() + b"\n"
        try:
            await asyncio.to_thread(self._append, line)
        except OSError as error:
            raise DeliveryError(f"cannot write: {error.strerror}") from error

    async def idle(self) -> None:
        """Do nothing: the file is closed after each line."""

    async def close(self) -> None:
        """Do nothing: the file is closed after each line."""

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._rotate_bytes and self._size() + len(line) > self._rotate_bytes:
            self._rotate()
        with self._path.open("ab+") as file:
            _cut_torn_line(file.fileno())
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def _rotate(self) -> None:
        """Rename the file and the older ones; the oldest is replaced."""
        for number in range(self._kept, 0, -1):
            old = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else None
            source = old or self._path
            if source.exists():
                source.replace(self._path.with_name(f"{self._path.name}.{number}"))


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
