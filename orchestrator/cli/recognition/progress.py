"""The output for people during recognition: results, messages, and a bar with the time left."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from orchestrator.errors import PlateError

REFRESHES = 4
"""Updates of the bar in a second."""


class ProgressOutput:
    """Standard output and standard error; with a progress bar if both are terminals.

    Args:
        is_quiet: No bar and no information, only results and errors.
    """

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def show(self, text: str) -> None:
        """Print a result on standard output."""
        if self._bar and sys.stdout.isatty():
            self._print_above(self._bar, text)
        else:
            typer.echo(text)

    def report(self, text: str) -> None:
        """Print an error, or a message that a user needs, on standard error."""
        if self._bar:
            self._print_above(self._bar, text)
        else:
            typer.echo(text, err=True)

    def inform(self, text: str) -> None:
        """Print information on standard error, unless it is quiet."""
        if not self._is_quiet:
            self.report(text)

    @contextmanager
    def progress(self, count: Callable[[], int | None]) -> Iterator[None]:
        """Show a progress bar for the length of a `with` block.

        There is no bar if standard error is no terminal, or if it is quiet.

        Args:
            count: Returns the number of pictures, or None if it is unknown. It may take long, and
                is called in a thread.
        """
        console = Console(stderr=True)
        if self._is_quiet or not console.is_interactive:
            yield
            return
        bar = Progress(
            *_columns(),
            console=console,
            transient=True,
            redirect_stdout=False,
            refresh_per_second=REFRESHES,
        )
        with bar:
            self._task = bar.add_task("", total=None, of="")
            threading.Thread(target=self._find_total, args=(bar, count), daemon=True).start()
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    def _find_total(self, bar: Progress, count: Callable[[], int | None]) -> None:
        with suppress(PlateError):  # a list that cannot be read: the run reports it
            if total := count():
                bar.update(self._task, total=total, of=f" of {total:,}")

    def advance(self) -> None:
        """Advance the bar by one picture."""
        if self._bar:
            self._bar.advance(self._task)

    @staticmethod
    def _print_above(bar: Progress, text: str) -> None:
        bar.console.print(text, soft_wrap=True, markup=False, highlight=False, emoji=False)


def _columns() -> Iterator[ProgressColumn]:
    yield TextColumn("{task.completed:,.0f}{task.fields[of]} pictures")
    yield BarColumn()
    yield Rate()
    yield TimeLeft()


class Rate(ProgressColumn):
    """Pictures a second, over the last half minute."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f} a second" if speed else "")


class TimeLeft(ProgressColumn):
    """Hours, minutes and seconds left at that rate, once the number of pictures is known."""

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        return Text("" if seconds is None else f"{timedelta(seconds=round(seconds))} left")
