"""One JSON line a call: who, what, how long, how many plates. Never a plate's text or a picture."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from orchestrator.errors import SettingsError

MOST_CHARACTERS = 100
"""Of a text in a line; so no line is longer than what a pipe takes at once, 4096 bytes."""
LOOK_AGAIN_S = 1.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """What is kept of one call.

    Attributes:
        client: Its name; that of its address where its key is not known.
        what: Was asked for.
        model: Which one; empty for none.
        id: The call's, by its caller.
        status: HTTP's.
        reason: How it ended: `ok`, or why it was refused or failed.
        ms: From its headers to the end of its answer.
        bytes: Of its body.
        plates: Found; 0 when it was not answered.
    """

    client: str
    what: str
    model: str = ""
    id: str = ""
    status: int = 200
    reason: str = "ok"
    ms: float = 0.0
    bytes: int = 0
    plates: int = 0


def line_of(entry: Entry, now: float) -> bytes:
    """Return a call's line of JSON in ASCII: no text of a caller's begins another one.

    Args:
        entry: What is kept of the call.
        now: Unix time.
    """
    at = datetime.fromtimestamp(now, timezone.utc).isoformat(timespec="milliseconds")
    kept = {
        name: value[:MOST_CHARACTERS] if isinstance(value, str) else value
        for name, value in vars(entry).items()
    }
    return json.dumps({"time": at, **kept, "ms": round(entry.ms, 1)}).encode() + b"\n"


class Audit:
    """Writes the line of each call to a file, which other processes may share, or to its output.

    No call fails or waits because its line cannot be written.
    """

    def __init__(
        self,
        file: Path | None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open the file; for standard output when None.

        Raises:
            SettingsError: It cannot be opened.
        """
        self._file, self._clock, self._now = file, clock, now
        self._looked = clock()
        self._is_failing = self._is_torn = False
        try:
            self._opened = _standard_output() if file is None else _open(file)
        except OSError as error:
            raise SettingsError(
                f"audit: wanted a file to write to, got {error.strerror}: {file}"
            ) from error

    def write(self, entry: Entry) -> bool:
        """Write a call's line; False when it is lost."""
        line = line_of(entry, self._now())
        try:
            self._reopen()
            self._put(line)
        except OSError as error:
            if not self._is_failing:
                log.error("the audit loses lines: %s", error.strerror)
            self._is_failing = True
            return False
        self._is_failing = False
        return True

    def close(self) -> None:
        """Close the file."""
        if self._file:
            os.close(self._opened)

    def _reopen(self) -> None:
        """Open the file anew when it was moved away."""
        now = self._clock()
        if self._file is None or now - self._looked < LOOK_AGAIN_S:
            return
        try:
            is_moved = not os.path.samestat(self._file.stat(), os.fstat(self._opened))
        except FileNotFoundError:
            is_moved = True
        if is_moved:
            opened = _open(self._file)
            os.close(self._opened)
            self._opened, self._is_torn = opened, False
        self._looked = now  # not before: what is written to a file that is gone is lost

    def _put(self, line: bytes) -> None:
        """Write a line at once, so that those of other processes do not come into it."""
        if not _takes_more(self._opened):
            raise BlockingIOError(0, "its reader is too slow")
        whole = b"\n" + line if self._is_torn else line  # what was torn ends here
        written = os.write(self._opened, whole)
        if written < len(whole):
            self._is_torn = True
            raise OSError(0, "a line was cut off")
        self._is_torn = False


def _open(file: Path) -> int:
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)


def _standard_output() -> int:
    """Return where it is; nowhere when whoever started this closed it, and every line is lost."""
    return os.open(os.devnull, os.O_RDONLY) if sys.stdout is None else sys.stdout.fileno()


def _takes_more(opened: int) -> bool:
    """Tell whether a write returns at once; it does to a file, and to a pipe that is not full."""
    ready = select.poll()
    ready.register(opened, select.POLLOUT)
    return bool(ready.poll(0))
