"""Ratios of figures within one run; noise of the machine affects both figures equally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.contract import DETECTOR
from orchestrator.triton.stages import UNPACKING
from workshop.benchmarks.bench.plan import HTTP_ENCODED, IN_PROCESS, Key
from workshop.benchmarks.bench.pooling import CellFigures, divide_throughput
from workshop.reporting.tables import ratio

SERVED, SPREAD, SCALING = "served / in process", "p99 / p50", "throughput at many / at 4"
TAX = f"one call - ({UNPACKING} + {DETECTOR}), ms"
BUSY = 4
"""The number of calls at once at which a server is busy, but not flooded."""


@dataclass(frozen=True)
class Ratio:
    """One ratio of a picture."""

    title: str
    picture: str
    concurrency: int
    value: float


Cells = Mapping[Key, CellFigures]
Found = Iterator[tuple[str, int, float | None]]


def find_ratios(cells: Sequence[CellFigures]) -> tuple[Ratio, ...]:
    """Return every ratio that the cells allow."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Ratio(title, picture, concurrency, value)
        for picture in dict.fromkeys(key.picture for key in by_key)
        for title, concurrency, value in (
            *_under_load(by_key, picture),
            *_one_call(by_key, picture),
        )
        if value is not None
    )


def _under_load(cells: Cells, picture: str) -> Found:
    counts = sorted(
        key.concurrency for key in cells if (key.picture, key.transport) == (picture, HTTP_ENCODED)
    )
    for count in counts:
        if bare := cells.get(Key(picture, IN_PROCESS, count)):
            served = cells[Key(picture, HTTP_ENCODED, count)]
            yield SERVED, count, divide_throughput(served.load, bare.load)
    if busy := cells.get(Key(picture, HTTP_ENCODED, BUSY)):
        yield SPREAD, BUSY, ratio(busy.load.p99_ms, busy.load.p50_ms)
        if counts[-1] > BUSY:
            most = cells[Key(picture, HTTP_ENCODED, counts[-1])]
            yield SCALING, counts[-1], divide_throughput(most.load, busy.load)


def _one_call(cells: Cells, picture: str) -> Found:
    served, bare = (cells.get(Key(picture, way, 1)) for way in (HTTP_ENCODED, IN_PROCESS))
    if served and served.load.p50_ms is not None and served.plates == 0 and bare and bare.inside:
        parts = bare.inside.stages_ms
        yield TAX, 1, served.load.p50_ms - parts[DETECTOR] - parts[UNPACKING]
