"""A stored run beside a new one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figures
from evaluation.report import read_json
from orchestrator.errors import DataError

SCHEMA = 2
COMPARED = {"throughput": "pictures/s", "p50_ms": "p50", "cpu_s_per_call": "CPU"}
"""Figures of a cell that are divided, and what the tables call them."""
SELECTION = ("plates", "files", "transports", "concurrencies", "thin")
"""Settings that say which cells there are, and nothing about a cell."""
IDENTITY = ("picture", "transport", "concurrency")


def read_report(path: Path) -> Figures:
    """Read a `report.json`.

    Raises:
        DataError: It is no report of this command, or one of another version.
    """
    report = read_json(path)
    if not isinstance(report, dict) or "cells" not in report:
        raise DataError(f"{path}: wanted a report of plates bench, got other JSON")
    if report.get("schema") != SCHEMA:
        raise DataError(f"{path}: wanted schema {SCHEMA}, got {report.get('schema')}")
    return dict(report)


def compared(new: Sequence[Figures], old: Sequence[Figures]) -> list[Figures]:
    """Return new / old for each cell that both have; None where a figure is missing."""
    before = {_identity(cell): cell for cell in old}
    return [
        dict(zip(IDENTITY, _identity(cell), strict=True))
        | {name: _ratio(cell[name], before[_identity(cell)][name]) for name in COMPARED}
        for cell in new
        if _identity(cell) in before
    ]


def medians(rows: Sequence[Figures]) -> Figures:
    """Return each ratio's median by transport."""
    return {
        transport: {
            name: statistics.median(values) if values else None
            for name in COMPARED
            for values in [
                [row[name] for row in rows if row["transport"] == transport and row[name]]
            ]
        }
        for transport in dict.fromkeys(row["transport"] for row in rows)
    }


def differences(new: Figures, old: Figures) -> list[str]:
    """Say in what machine, settings and pictures two runs differ."""
    return [
        f"{part} {name}: {_shown(old_value)} then, {_shown(new_value)} now"
        for part in ("machine", "settings", "server")
        for name, old_value, new_value in _unequal(old.get(part) or {}, new.get(part) or {})
    ] + [
        f"picture {name}: another picture than then"
        for name, old_value, new_value in _unequal(_digests(old), _digests(new))
        if old_value and new_value
    ]


def _digests(report: Figures) -> Figures:
    return {picture["name"]: picture["sha256"] for picture in report["pictures"]}


def _unequal(old: Figures, new: Figures) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys((*old, *new)):
        if name not in SELECTION and old.get(name) != new.get(name):
            yield name, old.get(name), new.get(name)


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)


def _identity(cell: Figures) -> tuple[Any, ...]:
    return tuple(cell[name] for name in IDENTITY)


def _ratio(new: float | None, old: float | None) -> float | None:
    return new / old if new is not None and old else None
