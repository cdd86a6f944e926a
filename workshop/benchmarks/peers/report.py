"""The report of the comparison: machine, servers, ratios and every figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone

from workshop.benchmarks.bench.plan import IN_PROCESS, Conditions, Plan
from workshop.benchmarks.bench.pooling import LoadFigures, divide_throughput, pool
from workshop.benchmarks.bench.ratios import BUSY, SPREAD, Ratio
from workshop.benchmarks.bench.report import PictureFacts, describe_picture
from workshop.benchmarks.bench.server import ServerFacts
from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.peers.cells import Cell
from workshop.benchmarks.peers.measurement import IdleServer, Results
from workshop.benchmarks.peers.peer_processes import FASTAPI
from workshop.benchmarks.peers.servers import REST, TRITON
from workshop.benchmarks.pictures import Picture
from workshop.reporting.comparison import ratio
from workshop.reporting.machine import Machine, describe_machine

PAIRS = (
    *((ours, FASTAPI) for ours in (TRITON, REST)),
    *((served, IN_PROCESS) for served in (TRITON, REST, FASTAPI)),
)
"""The servers whose throughput is divided, in the order of the report."""
Loads = Mapping[Cell, LoadFigures]
Found = Iterator[tuple[str, Cell, float | None]]


@dataclass(frozen=True)
class PeerFigures:
    """The figures of a cell over all its rounds.

    Attributes:
        plates: The number of plates in the last answer; None when it is not counted.
        memory_bytes: The highest memory use of any round (PSS).
    """

    cell: Cell
    plates: int | None
    load: LoadFigures
    memory_bytes: int | None

    @property
    def cores(self) -> float | None:
        """The cores that the server kept busy; None when its CPU time was not measured."""
        cpu_ms = self.load.cpu_ms.server
        return None if cpu_ms is None else self.load.throughput * cpu_ms / 1e3


@dataclass(frozen=True)
class PeersReport:
    """The report of a run.

    Attributes:
        workers: The number of the peer's processes that load the networks.
    """

    date: str
    machine: Machine
    conditions: Conditions
    triton: ServerFacts | None
    workers: int
    rounds_done: int
    ended_early: str
    pictures: tuple[PictureFacts, ...]
    ratios: tuple[Ratio, ...]
    cells: tuple[PeerFigures, ...]
    servers: tuple[IdleServer, ...]
    notes: tuple[str, ...]

    @property
    def has_failed(self) -> bool:
        return bool(self.ended_early) or any(figures.load.errors for figures in self.cells)


def write_up(plan: Plan, pictures: Sequence[Picture], results: Results) -> PeersReport:
    """Return the report of a run."""
    cells = [sum_up(cell, results.rounds[cell]) for cell in results.cells if cell in results.rounds]
    triton = results.triton
    return PeersReport(
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=describe_machine(triton.version if triton else ""),
        conditions=Conditions(
            **{field.name: getattr(plan, field.name) for field in fields(Conditions)}
        ),
        triton=triton,
        workers=results.workers,
        rounds_done=results.rounds_done,
        ended_early=results.ended,
        pictures=tuple(map(describe_picture, pictures)),
        ratios=find_ratios({figures.cell: figures.load for figures in cells}),
        cells=tuple(cells),
        servers=tuple(results.idle),
        notes=tuple(_find_notes(cells, results.ended)),
    )


def sum_up(cell: Cell, rounds: Sequence[Round]) -> PeerFigures:
    """Return the figures of a cell; there must be at least one round."""
    sizes = [
        round_.peaks.memory_bytes for round_ in rounds if round_.peaks.memory_bytes is not None
    ]
    plates = [round_.plates for round_ in rounds if round_.plates is not None]
    return PeerFigures(
        cell=cell,
        plates=plates[-1] if plates else None,
        load=pool(rounds),
        memory_bytes=max(sizes, default=None),
    )


def _find_notes(cells: Sequence[PeerFigures], ended: str) -> Iterator[str]:
    if ended:
        yield f"the run ended early: {ended}"
    for figures in cells:
        if figures.load.errors:
            load = figures.load
            yield f"{figures.cell}: {load.errors} errors, the first: {load.first_error}"


def find_ratios(loads: Loads) -> tuple[Ratio, ...]:
    """Return every ratio that the cells allow: those of throughput, then p99 / p50."""
    return tuple(
        Ratio(title, cell.picture, cell.concurrency, value)
        for title, cell, value in (*_of_throughput(loads), *_of_latency(loads))
        if value is not None
    )


def _of_throughput(loads: Loads) -> Found:
    for above, below in PAIRS:
        for cell, load in loads.items():
            other = replace(cell, server=below)
            if cell.server == above and other in loads:
                yield f"{above} / {below}", cell, divide_throughput(load, loads[other])


def _of_latency(loads: Loads) -> Found:
    for cell, load in loads.items():
        if cell.concurrency == BUSY:
            yield f"{SPREAD}, {cell.server}", cell, ratio(load.p99_ms, load.p50_ms)
