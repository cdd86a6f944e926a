"""Prints the passes, messages and the table of a watch, in a thread of its own."""

from __future__ import annotations

import io
import logging
import os
import queue
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TextIO

import typer
from rich.console import Console

from orchestrator.cli.recognition.plate_table import to_printable
from orchestrator.host.background_log import replace_stderr_handlers
from plate_cameras.passes import PassEvent
from plate_cameras.service.live_table import REDRAW_S, CameraTable
from plate_cameras.service.pass_table import PassTable
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.watching.status import CameraStatus

MAX_WAITING = 10_000
"""Lines that wait for a terminal, a pipe or a disk. Further ones are left out."""
CLOSE_S = 2.0
"""Longest wait for the last lines when a watch is stopped."""


@dataclass(frozen=True)
class _Line:
    text: str
    is_error: bool


class Printer:
    """Prints lines in a thread of its own, so that a slow reader delays nothing else.

    Lines that cannot be printed are counted and left out. This is no error: passes are in the
    store.

    Args:
        table: Is drawn below the lines; None for none.

    Attributes:
        rejected: Number of lines for which there was no place or no thread.
        failed: Number of lines that could not be printed.
    """

    def __init__(self, table: CameraTable | None = None) -> None:
        self.rejected = self.failed = 0
        self._table = table
        self._lines: queue.Queue[_Line | None] = queue.Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_broken = {False: False, True: False}  # whether the last line to it has failed

    @property
    def lost(self) -> int:
        """Number of lines that were not printed."""
        return self.rejected + self.failed

    def start(self) -> None:
        """Start to print, and to draw the table."""
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="printer", daemon=True)
                thread.start()
                self._thread = thread

    def print(self, text: str, *, err: bool = False) -> None:
        """Print a line to the standard output or error. This returns at once."""
        try:
            self.start()
            self._lines.put_nowait(_Line(text, err))
        except (queue.Full, RuntimeError):  # RuntimeError: no thread can be started
            self.rejected += 1

    def close(self, within_s: float | None = CLOSE_S) -> None:
        """Print the last lines, and remove the table. None waits for as long as that takes."""
        if self._thread is None:
            return
        try:
            self._lines.put(None, timeout=within_s)
        except queue.Full:
            return
        self._thread.join(within_s)
        if not self._thread.is_alive():
            self._thread = None
            self._replace_broken()

    def _run(self) -> None:
        if self._table:
            self._attempt(self._table.start)
        while True:
            try:
                line = self._lines.get(timeout=REDRAW_S if self._table else None)
            except queue.Empty:
                if self._table:
                    self._attempt(self._table.redraw)
                continue
            if line is None:
                break
            is_printed = self._attempt(lambda line=line: self._show(line))  # type: ignore[misc]
            self._is_broken[line.is_error] = not is_printed
            self.failed += not is_printed
        if self._table:
            self._attempt(self._table.stop)

    def _show(self, line: _Line) -> None:
        is_shown = self._table and (line.is_error or sys.stdout.isatty())
        if self._table and is_shown:
            self._table.print_above(line.text)
        else:
            typer.echo(line.text, err=line.is_error)

    def _attempt(self, step: Callable[[], None]) -> bool:
        """Run a step of printing. A failure here must not affect anything else."""
        try:
            step()
        except Exception:  # a full disk, a reader that is gone, a closed or strange stream
            return False
        return True

    def _replace_broken(self) -> None:
        """Replace streams whose last write failed. Else Python fails when it flushes them."""
        for is_error, is_broken in self._is_broken.items():
            if is_broken:
                setattr(sys, "stderr" if is_error else "stdout", io.StringIO())


class _PrinterHandler(logging.Handler):
    def __init__(self, printer: Printer, like: logging.Handler) -> None:
        super().__init__(like.level)
        self.setFormatter(like.formatter)
        self._printer = printer

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._printer.print(self.format(record), err=True)
        except Exception:  # a message with wrong arguments
            self.handleError(record)


def logging_through(printer: Printer) -> AbstractContextManager[None]:
    """Print the log of the standard error by a printer, inside a `with` block."""
    return replace_stderr_handlers(lambda handler: _PrinterHandler(printer, handler))


LOG = logging.getLogger(__name__)


class Output:
    """Prints for people and programs. No call here waits or fails.

    Args:
        table: Turns events into lines.
        has_live_table: The cameras are drawn if there is a terminal.
    """

    def __init__(
        self,
        table: PassTable,
        cameras: Callable[[], Sequence[CameraStatus]],
        *,
        has_live_table: bool,
    ) -> None:
        console = Console(stderr=True)
        is_drawn = has_live_table and console.is_interactive and not _is_pipe(sys.stdout)
        self.printer = Printer(CameraTable(cameras, console) if is_drawn else None)
        self._table = table

    def show_event(self, event: PassEvent) -> None:
        """Print an event of a pass."""
        try:
            for line in self._table.to_lines(event):
                self.printer.print(line)
        except Exception:  # such as a time that no calendar has
            LOG.exception("a pass of %s cannot be printed", event.vehicle_pass.camera)

    def show_opening(self, opening: GateOpening) -> None:
        """Print what a gate did."""
        self.say(format_opening(opening))

    def say(self, text: str) -> None:
        """Print a message for people."""
        self.printer.print(text, err=True)


def _is_pipe(stream: TextIO) -> bool:
    """Tell whether a program reads a stream. It may print to the terminal that the table is in."""
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no file, or a closed one
        return False


def format_opening(opening: GateOpening) -> str:
    """Return the gate, the plate with its list, and the outcome with its reason."""
    plate = f"{opening.text} ({to_printable(opening.person or opening.list)})"
    plate = plate if opening.text else to_printable(opening.person)
    reason = f": {to_printable(opening.reason)}" if opening.reason else ""
    delay = "" if opening.delay_s is None else f", {opening.delay_s:.1f} s"
    return f"gate {to_printable(opening.gate)}: {opening.outcome} for {plate}{delay}{reason}"
