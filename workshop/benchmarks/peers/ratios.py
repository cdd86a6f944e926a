"""The ratios of the comparison. All are within one run, so noise affects both sides equally."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from workshop.benchmarks.peers.cells import AB, CALLERS, Cell
from workshop.benchmarks.peers.peer_processes import FASTAPI
from workshop.benchmarks.peers.servers import PEERS, REST, TRITON
from workshop.benchmarks.plan import IN_PROCESS
from workshop.benchmarks.pooling import LoadFigures, divide_throughput
from workshop.benchmarks.ratios import BUSY, SPREAD, Ratio
from workshop.reporting.comparison import ratio

OTHERS = tuple(peer.name for peer in PEERS if peer is not FASTAPI)
PAIRS = (
    *((ours, theirs) for theirs in (FASTAPI.name, *OTHERS) for ours in (TRITON, REST)),
    *((served, IN_PROCESS) for served in (TRITON, REST, FASTAPI.name, *OTHERS)),
)
"""The servers whose throughput is divided, in the order of the report."""
Loads = Mapping[Cell, LoadFigures]
Found = Iterator[tuple[str, Cell, float | None]]


def find_ratios(loads: Loads) -> tuple[Ratio, ...]:
    """Return every ratio that the cells allow: those of throughput, then p99 / p50."""
    return tuple(
        Ratio(title, cell.picture, cell.concurrency, value)
        for title, cell, value in (*_of_throughput(loads), *_of_latency(loads))
        if value is not None
    )


def _of_throughput(loads: Loads) -> Found:
    for generator, (above, below) in product((CALLERS, AB), PAIRS):
        for cell, load in loads.items():
            other = replace(cell, server=below)
            if (cell.generator, cell.server) == (generator, above) and other in loads:
                title = f"{above} / {below}{_name_generator(cell)}"
                yield title, cell, divide_throughput(load, loads[other])


def _of_latency(loads: Loads) -> Found:
    for cell, load in loads.items():
        if cell.concurrency == BUSY:
            title = f"{SPREAD}, {cell.server}{_name_generator(cell)}"
            yield title, cell, ratio(load.p99_ms, load.p50_ms)


def _name_generator(cell: Cell) -> str:
    return "" if cell.generator == CALLERS else f", by {cell.generator}"
