"""The log of a process on its standard error, whose reader may stop reading: nothing waits for it.

A paused terminal and a stopped collector of logs take no more lines. Python's own handler would
then wait for ever, and hold a lock that every thread with a message wants.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

STDERR = 2
MAX_LINES = 10_000
"""Lines that wait for a terminal, a pipe or a disk. Further ones are left out."""
CLOSE_S = 2.0
"""Longest wait for the last lines."""


class BackgroundHandler(logging.Handler):
    """Writes lines in a thread of its own, and counts the lines that it leaves out.

    Args:
        file: Descriptor to write to.
        max_lines: Most lines that wait.
    """

    def __init__(self, file: int = STDERR, max_lines: int = MAX_LINES) -> None:
        super().__init__()
        self._file, self._max_lines = file, max_lines
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._missing = 0
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if self._lines.qsize() >= self._max_lines:
            self._missing += 1
            return
        if self._missing:
            self._lines.put(f"{self._missing} lines are missing: the log's reader was too slow")
            self._missing = 0
        try:
            self._lines.put(self.format(record))
        except Exception:  # a message with wrong arguments
            self.handleError(record)

    def close(self) -> None:
        """Write the lines that wait, within `CLOSE_S` seconds."""
        self._lines.put(None)
        self._thread.join(CLOSE_S)
        super().close()

    def is_stuck(self) -> bool:
        """Tell, after `close`, whether nobody reads the last lines."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            left = f"{line}\n".encode(errors="replace")
            try:
                while left:
                    left = left[os.write(self._file, left) :]
            except OSError:  # the reader is gone, or the disk is full
                continue


@contextmanager
def log_in_background() -> Iterator[None]:
    """Write what goes to the standard error's log in a thread, for the length of a `with` block.

    If nobody reads it at the end, the process drops what it writes to its standard error after
    that.
    """
    background = BackgroundHandler()

    def take_over(handler: logging.Handler) -> logging.Handler:
        background.setFormatter(handler.formatter)
        return background

    try:
        with replace_stderr_handlers(take_over):
            yield
    finally:
        background.close()
        if background.is_stuck():
            sys.stderr = io.StringIO()


@contextmanager
def replace_stderr_handlers(make: Callable[[logging.Handler], logging.Handler]) -> Iterator[None]:
    """Replace the log's handlers of the standard error, for the length of a `with` block.

    Args:
        make: Returns the handler in place of one of them.
    """
    root = logging.getLogger()
    streams = (sys.stderr, sys.__stderr__)
    pairs = [
        (handler, make(handler))
        for handler in root.handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream in streams
    ]
    for old, new in pairs:
        root.removeHandler(old)
        root.addHandler(new)
    try:
        yield
    finally:
        for old, new in pairs:
            root.removeHandler(new)
            root.addHandler(old)
