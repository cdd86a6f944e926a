"""Runs of faults: chooses them by name, prints each result, and writes the report and the page."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from orchestrator.errors import PlateError, SettingsError
from workshop.reporting.files import explain_write_errors, prepare_folder, write_part, write_report
from workshop.reporting.machine import Machine, describe_machine
from workshop.reporting.tables import NOTHING, Cell, format_markdown


class NamedFault(Protocol):
    """A fault that can be chosen by its name."""

    @property
    def name(self) -> str: ...


class AnyRow(Protocol):
    """The common fields of the results of all kinds of faults."""

    @property
    def fault(self) -> str: ...
    @property
    def broken(self) -> tuple[str, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def skipped(self) -> str: ...


F = TypeVar("F", bound=NamedFault)
R = TypeVar("R", bound=AnyRow)


@dataclass(frozen=True)
class Report(Generic[R]):
    """The results of a run."""

    date: str
    seconds: float
    machine: Machine
    rows: tuple[R, ...] = ()

    @property
    def is_kept(self) -> bool:
        return not any(row.broken for row in self.rows)


@dataclass(frozen=True)
class Table(Generic[R]):
    """The table of a kind of faults, and its part of a page.

    Attributes:
        name: The name of the part.
        columns: The columns between the fault and the promise.
        to_cells: Returns the cells of these columns.
    """

    name: str
    columns: tuple[str, ...]
    to_cells: Callable[[R], tuple[Cell, ...]]

    def write_page(self, page: Path, report: Report[R]) -> None:
        """Write the table into its part of a page, below a sentence about the run.

        Raises:
            DataError: The page has no such part, or cannot be read or written.
        """
        machine = report.machine
        are_kept = [not row.broken for row in report.rows if not row.skipped]
        head = (
            f"{report.date}, {machine.cpu}, {machine.cores} cores: {sum(are_kept)} of "
            f"{len(are_kept)} promises kept, in {report.seconds / 60:.0f} minutes."
        )
        write_part(page, self.name, f"{head}\n\n{self.format_rows(report)}")

    def format_rows(self, report: Report[R]) -> str:
        """Return the table."""
        header = ("fault", *self.columns, "promise")
        return format_markdown(header, [self._cells(row) for row in report.rows])

    def _cells(self, row: R) -> tuple[Cell, ...]:
        if row.skipped:
            return (row.fault, *[NOTHING] * len(self.columns), f"not made here: {row.skipped}")
        verdict = f"**{'; '.join(row.broken)}**" if row.broken else "kept"
        return (row.fault, *self.to_cells(row), verdict)


def format_notes(report: Report[R]) -> Iterator[str]:
    """Yield the notes about each fault that a reader of the table may need."""
    for row in report.rows:
        for note in row.notes:
            yield f"{row.fault}: {note}"


def choose(faults: Sequence[F], names: Sequence[str]) -> list[F]:
    """Return the faults with these names, or all faults when there are no names."""
    faults_by_name = {fault.name: fault for fault in faults}
    unknown = [name for name in names if name not in faults_by_name]
    if unknown:
        raise SettingsError(f"only: wanted some of {', '.join(faults_by_name)}, got {unknown[0]}")
    return [fault for fault in faults if not names or fault.name in names]


def report_rows(rows: Iterable[R]) -> Report[R]:
    """Make faults, and print the result of each; return the report of the run."""
    began, results = time.monotonic(), []
    for row in rows:
        results.append(row)
        verdict = row.skipped or "; ".join(row.broken) or "kept"
        print(f"{time.monotonic() - began:4.0f} s  {row.fault}: {verdict}", file=sys.stderr)
    today = datetime.now(timezone.utc).date().isoformat()
    return Report(today, time.monotonic() - began, describe_machine(), tuple(results))


def make_parser(module: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with the options that all of them have."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument(
        "--only", action="extend", nargs="+", default=[], metavar="NAME", help="names of faults"
    )
    parser.add_argument("--json", type=Path, help="file for every figure")
    parser.add_argument("--page", type=Path, help="page that shows the table between its marks")
    parser.add_argument("--logs", type=Path, help="folder for what the programs said")
    return parser


def run_command(
    options: argparse.Namespace,
    faults: Sequence[F],
    make: Callable[[list[F]], Iterable[R]],
    table: Table[R],
) -> int:
    """Make the chosen faults, print and write the results; return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # programs are ended on exit
    try:
        chosen_faults = choose(faults, options.only)
        if options.json:
            prepare_folder(options.json.parent)
        report = report_rows(make(chosen_faults))
        print("\n".join([table.format_rows(report), *format_notes(report)]))
        if options.json:
            with explain_write_errors(options.json.parent):
                write_report(report, options.json)
        if options.page:
            table.write_page(options.page, report)
    except PlateError as error:
        print(f"{table.name}: {error}", file=sys.stderr)
        return 2
    return 0 if report.is_kept else 1
