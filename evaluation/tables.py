"""Stays until benchmarks takes its tables from reporting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reporting.tables import NOTHING as NOTHING
from reporting.tables import format_table


def aligned(rows: Iterable[Sequence[str]]) -> str:
    header, *others = rows
    return format_table(header, others)
