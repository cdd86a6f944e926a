"""Compares a new run with a stored one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any

from workshop.benchmarks.bench.pooling import CellFigures, find_median
from workshop.benchmarks.bench.report import BenchReport, CellChange, Change, Comparison
from workshop.reporting.comparison import Row, divide

COMPARED: tuple[Row[CellFigures], ...] = (
    Row("pictures/s", lambda cell: cell.load.throughput),
    Row("p50", lambda cell: cell.load.p50_ms),
    Row("CPU", lambda cell: cell.load.cpu_ms.server),
)
"""The figures of a cell that are divided, in the order of the fields of `Change`."""
SELECTION = ("plates", "transports", "concurrencies", "thin")
"""The conditions that only select the cells, and do not change their figures."""


def set_against(new: BenchReport, old: BenchReport) -> Comparison:
    """Compare a run with a stored one."""
    now, before = ({cell.key: cell for cell in report.cells} for report in (new, old))
    ratios_by_cell = divide(COMPARED, now, before)
    cells = tuple(CellChange(key, Change(*ratios)) for key, ratios in ratios_by_cell.items())
    return Comparison(old.date, tuple(describe_differences(new, old)), take_medians(cells), cells)


def take_medians(cells: Sequence[CellChange]) -> dict[str, Change]:
    """Return the median of each ratio, by way."""
    return {
        way: Change(*map(find_median, zip(*changes, strict=True)))
        for way in dict.fromkeys(cell.key.transport for cell in cells)
        for changes in [[astuple(cell.change) for cell in cells if cell.key.transport == way]]
    }


def describe_differences(new: BenchReport, old: BenchReport) -> Iterator[str]:
    """Yield each difference between two runs: machine, conditions, server and pictures."""
    for part in ("machine", "conditions", "server"):
        before, now = _flatten(asdict(old)[part]), _flatten(asdict(new)[part])
        for name in dict.fromkeys((*before, *now)):
            if name not in SELECTION and before.get(name) != now.get(name):
                yield f"{part} {name}: {_show(before.get(name))} then, {_show(now.get(name))} now"
    digests = {picture.name: picture.sha256 for picture in old.pictures}
    for picture in new.pictures:
        if digests.get(picture.name, picture.sha256) != picture.sha256:
            yield f"picture {picture.name}: another picture than then"


def _flatten(part: Mapping[str, Any] | None, prefix: str = "") -> dict[str, Any]:
    """Return the values of a part and of its nested parts, by name."""
    values: dict[str, Any] = {}
    for name, value in (part or {}).items():
        nested = isinstance(value, Mapping)
        values |= _flatten(value, f"{prefix}{name} ") if nested else {f"{prefix}{name}": value}
    return values


def _show(value: Any) -> str:
    return "none" if value in (None, "") else str(value)
