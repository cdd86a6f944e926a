"""The report of the comparison: machine, servers, ratios and every figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone

from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.peers.cells import Cell
from workshop.benchmarks.peers.measurement import IdleServer, Results
from workshop.benchmarks.peers.ratios import find_ratios
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import Conditions, Plan
from workshop.benchmarks.pooling import LoadFigures, pool
from workshop.benchmarks.ratios import Ratio
from workshop.benchmarks.report import PictureFacts, describe_picture
from workshop.benchmarks.server import ServerFacts
from workshop.reporting.machine import Machine, describe_machine


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
        workers: The number of processes of each peer that load the networks.
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
        return bool(self.ended_early) or any(one.load.errors for one in self.cells)


def write_up(plan: Plan, pictures: Sequence[Picture], results: Results) -> PeersReport:
    """Return the report of a run."""
    cells = [sum_up(cell, results.rounds[cell]) for cell in results.cells if cell in results.rounds]
    triton = results.triton
    return PeersReport(
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=describe_machine(triton.version if triton else ""),
        conditions=Conditions(**{one.name: getattr(plan, one.name) for one in fields(Conditions)}),
        triton=triton,
        workers=results.workers,
        rounds_done=results.rounds_done,
        ended_early=results.ended,
        pictures=tuple(map(describe_picture, pictures)),
        ratios=find_ratios({one.cell: one.load for one in cells}),
        cells=tuple(cells),
        servers=tuple(results.idle),
        notes=(*results.notes, *_find_notes(cells, results.ended)),
    )


def sum_up(cell: Cell, rounds: Sequence[Round]) -> PeerFigures:
    """Return the figures of a cell; there must be at least one round."""
    sizes = [one.peaks.memory_bytes for one in rounds if one.peaks.memory_bytes is not None]
    plates = [one.plates for one in rounds if one.plates is not None]
    return PeerFigures(
        cell=cell,
        plates=plates[-1] if plates else None,
        load=pool(rounds),
        memory_bytes=max(sizes, default=None),
    )


def _find_notes(cells: Sequence[PeerFigures], ended: str) -> Iterator[str]:
    if ended:
        yield f"the run ended early: {ended}"
    for one in cells:
        if one.load.errors:
            yield f"{one.cell}: {one.load.errors} errors, the first: {one.load.first_error}"
