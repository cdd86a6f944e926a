"""Formats the table of a run, and writes it into its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workshop.benchmarks.faults.report import AnyReport, FaultsReport, Row
from workshop.reporting.pages import write_part
from workshop.reporting.tables import NOTHING, Cell, format_markdown

NAME = "faults"
COUNTS = ("sent", "answered", "refused", "lost", "wrong", "longest wait")
HEADER = ("fault", "callers, answers/s", *COUNTS, "recovered", "promise")


def write_page(page: Path, report: FaultsReport) -> None:
    """Write the table between its marks in a page."""
    write_part(page, NAME, format_page(report))


def format_page(report: FaultsReport) -> str:
    """Return the text between the marks."""
    return f"{format_head(report)}\n\n{format_rows(report)}"


def format_head(report: AnyReport) -> str:
    """Return the sentence above the table: where and when it was measured, and what was kept."""
    machine = report.machine
    made = [row.is_kept for row in report.rows if not row.skipped]
    return (
        f"{report.date}, {machine.cpu}, {machine.cores} cores: {sum(made)} of {len(made)} promises "
        f"kept, in {report.seconds / 60:.0f} minutes."
    )


def format_rows(report: FaultsReport) -> str:
    """Return the table."""
    return format_markdown(HEADER, [_cells(row) for row in report.rows])


def _cells(row: Row) -> tuple[Cell, ...]:
    if row.skipped:
        return (row.fault, *[NOTHING] * (len(HEADER) - 2), f"not made here: {row.skipped}")
    counts = row.counts
    refused = ", ".join(f"{count} ({status})" for status, count in counts.refused.items())
    return (
        row.fault,
        f"{row.callers}, {row.usual_rate:.0f}",
        counts.sent,
        counts.answered,
        refused or 0,
        counts.lost,
        counts.wrong,
        f"{counts.longest_s:.1f} s",
        NOTHING if row.recover_s is None else f"{row.recover_s:.1f} s",
        "kept" if row.is_kept else f"**{'; '.join(row.broken)}**",
    )


def format_notes(report: AnyReport) -> Iterator[str]:
    """Yield the notes about each fault that a reader of the table may need."""
    for row in report.rows:
        for note in row.notes:
            yield f"{row.fault}: {note}"
