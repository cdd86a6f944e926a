"""The audit log: one JSON line for each call. It never holds a plate's text or a picture."""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.disk_files import open_log

NAMES = {"kind": "what"}
"""Names in a line that differ from those in a `CallEntry`; readers of audit logs know them."""
MAX_CHARACTERS = 100
"""Longest text in a line. So no line is longer than one write to a pipe, 4096 bytes."""
LOOK_AGAIN_S = 1.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CallEntry:
    """One call's entry in the audit log.

    Attributes:
        client: Name of the client, or its IP address if its key is not known.
        kind: Kind of the request; `what` in the line.
        model: Name of the model; empty for none.
        id: Id that the caller gave the call.
        status: HTTP status.
        reason: `ok`, or why the call was refused or failed.
        ms: Time from the headers to the end of the answer.
        bytes: Size of the body.
        plates: Plates that were found; 0 if the call was not answered.
    """

    client: str
    kind: str
    model: str = ""
    id: str = ""
    status: int = 200
    reason: str = "ok"
    ms: float = 0.0
    bytes: int = 0
    plates: int = 0


def line_of(entry: CallEntry, now: float) -> bytes:
    """Return a call's line of JSON in ASCII. A caller's text cannot begin a new line.

    Args:
        entry: The call's entry.
        now: Unix time.
    """
    at = datetime.fromtimestamp(now, timezone.utc).isoformat(timespec="milliseconds")
    fields = {
        NAMES.get(name, name): value[:MAX_CHARACTERS] if isinstance(value, str) else value
        for name, value in vars(entry).items()
    }
    return json.dumps({"time": at, **fields, "ms": round(entry.ms, 1)}).encode() + b"\n"


class Audit:
    """Writes the audit log to a file, which processes may share, or to standard output.

    No call fails or waits because its line cannot be written.
    """

    def __init__(
        self,
        file: Path | None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open the file, or standard output if the file is None.

        Raises:
            SettingsError: The file cannot be opened.
        """
        self._file, self._clock, self._now = file, clock, now
        self._last_look_s = clock()
        self._is_failing = self._is_torn = False
        try:
            self._descriptor = _standard_output() if file is None else open_log(file)
        except OSError as error:
            raise SettingsError(
                f"audit: wanted a file to write to, got {error.strerror}: {file}"
            ) from error

    def write(self, entry: CallEntry) -> bool:
        """Write a call's line at once, so that lines of other processes do not mix with it.

        Return False if the line is lost.
        """
        line, now_s = line_of(entry, self._now()), self._clock()
        try:
            if self._file is not None and now_s - self._last_look_s >= LOOK_AGAIN_S:
                self._reopen(self._file, now_s)
            ready = select.poll()
            ready.register(self._descriptor, select.POLLOUT)
            if not ready.poll(0):  # a full pipe; a file always takes more
                raise BlockingIOError(0, "its reader is too slow")
            whole = b"\n" + line if self._is_torn else line  # end the incomplete line
            self._is_torn = os.write(self._descriptor, whole) < len(whole)
            if self._is_torn:
                raise OSError(0, "a line was cut off")
        except OSError as error:
            if not self._is_failing:
                where = self._file or "standard output"
                log.error("the audit loses lines: %s: %s", where, error.strerror)
            self._is_failing = True
            return False
        self._is_failing = False
        return True

    def close(self) -> None:
        """Close the file."""
        if self._file:
            os.close(self._descriptor)

    def _reopen(self, file: Path, now_s: float) -> None:
        """Open the file again if it was moved away."""
        try:
            is_moved = not os.path.samestat(file.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            is_moved = True
        if is_moved:
            descriptor = open_log(file)
            os.close(self._descriptor)
            self._descriptor, self._is_torn = descriptor, False
        self._last_look_s = now_s  # not before: lines written to a deleted file are lost


def _standard_output() -> int:
    """Return the descriptor of standard output. If it is closed, every line is lost.

    A terminal is opened once more, for writes that do not wait: it may be ready for a part of a
    line alone.
    """
    if sys.stdout is None:
        return os.open(os.devnull, os.O_RDONLY)
    output = sys.stdout.fileno()
    if os.isatty(output):
        with suppress(OSError):  # that of another user
            return os.open(f"/proc/self/fd/{output}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    return output
