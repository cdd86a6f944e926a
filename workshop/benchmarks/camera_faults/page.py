"""Formats the table of a run, and writes it into its page."""

from __future__ import annotations

from pathlib import Path

from workshop.benchmarks.camera_faults.report import CameraFaultsReport, CameraRow
from workshop.benchmarks.faults.page import format_head
from workshop.reporting.pages import write_part
from workshop.reporting.tables import NOTHING, Cell, format_markdown

NAME = "camera-faults"
HEADER = (
    "what was broken",
    "vehicles",
    "not seen",
    "lost",
    "told twice",
    "repeated",
    "wrong openings",
    "longest gap",
    "cameras back",
    "all told",
    "promise",
)


def write_page(page: Path, report: CameraFaultsReport) -> None:
    """Write the table between its marks in a page."""
    write_part(page, NAME, f"{format_head(report)}\n\n{format_rows(report)}")


def format_rows(report: CameraFaultsReport) -> str:
    """Return the table."""
    return format_markdown(HEADER, [_cells(row) for row in report.rows])


def _cells(row: CameraRow) -> tuple[Cell, ...]:
    if row.skipped:
        return (row.fault, *[NOTHING] * (len(HEADER) - 2), f"not made here: {row.skipped}")
    return (
        row.fault,
        row.vehicles,
        row.unseen,
        row.lost,
        row.doubled,
        row.repeated,
        row.wrong_openings,
        *map(_seconds, (row.gap_s, row.back_s, row.told_s)),
        "kept" if row.is_kept else f"**{'; '.join(row.broken)}**",
    )


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f} s"
