"""Computes the figures of a load and of a cell of the grid from its rounds, and ratios of cells."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from orchestrator.contract import DETECTOR
from orchestrator.triton.stages import UNPACKING
from workshop.benchmarks.bench.metrics import Inside, add_up, look_inside
from workshop.benchmarks.bench.plan import HTTP_ENCODED, IN_PROCESS, Key
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.processes import Peaks
from workshop.reporting.tables import ratio


@dataclass(frozen=True)
class RoundFigures:
    """The figures of one round; None when nothing was answered or measured."""

    throughput: float
    p50_ms: float | None
    cpu_ms: float | None


@dataclass(frozen=True)
class LoadFigures:
    """The figures of a load over all its rounds.

    Attributes:
        refused: Calls that the server had no capacity for; they are not errors.
        throughput: Pictures a second: the median of the rounds.
        p50_ms: The median latency of all rounds together; likewise `p99_ms`.
    """

    calls: int
    errors: int
    refused: int
    first_error: str
    throughput: float
    p50_ms: float | None
    p99_ms: float | None
    cpu_ms: Cpu
    by_round: tuple[RoundFigures, ...]

    @property
    def cores(self) -> float | None:
        """The cores that the server kept busy; None when its CPU time was not measured."""
        cpu_ms = self.cpu_ms.server
        return None if cpu_ms is None else self.throughput * cpu_ms / 1e3


def pool(rounds: Sequence[Round]) -> LoadFigures:
    """Combine the rounds of a load; there must be at least one."""
    latencies = [ms for round_ in rounds for ms in round_.latencies_ms]
    by_round = tuple(map(_of_a_round, rounds))
    return LoadFigures(
        calls=len(latencies),
        errors=sum(round_.errors for round_ in rounds),
        refused=sum(round_.refused for round_ in rounds),
        first_error=next((round_.first_error for round_ in rounds if round_.first_error), ""),
        throughput=statistics.median(figures.throughput for figures in by_round),
        p50_ms=percentile(latencies, 50),
        p99_ms=percentile(latencies, 99),
        cpu_ms=_cpu_ms(rounds),
        by_round=by_round,
    )


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile; None without values."""
    return float(np.percentile(values, percent)) if values else None


def divide_throughput(above: LoadFigures, below: LoadFigures) -> float | None:
    """Return the median, over common rounds, of the ratio of the throughput within a round."""
    pairs = zip(above.by_round, below.by_round, strict=False)
    return find_median(
        ratio(above_round.throughput, other.throughput) for above_round, other in pairs
    )


def find_median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None without any."""
    numbers = [value for value in values if value is not None]
    return statistics.median(numbers) if numbers else None


def _of_a_round(round_: Round) -> RoundFigures:
    return RoundFigures(
        round_.throughput, percentile(round_.latencies_ms, 50), _cpu_ms([round_]).server
    )


def _cpu_ms(rounds: Sequence[Round]) -> Cpu:
    calls = sum(len(round_.latencies_ms) for round_ in rounds)
    sides = zip(*(astuple(round_.cpu_s) for round_ in rounds), strict=True)
    return Cpu(*(1e3 * sum(side) / calls if calls and None not in side else None for side in sides))


@dataclass(frozen=True)
class CellFigures:
    """The figures of a cell over all its rounds."""

    key: Key
    plates: int | None
    load: LoadFigures
    peaks: Peaks
    inside: Inside | None


def sum_up(key: Key, rounds: Sequence[Round]) -> CellFigures:
    """Return the figures of a cell."""
    return CellFigures(
        key=key,
        plates=_most(round_.plates for round_ in rounds),
        load=pool(rounds),
        peaks=Peaks(
            _most(round_.peaks.memory_bytes for round_ in rounds),
            _most(round_.peaks.shm_bytes for round_ in rounds),
        ),
        inside=look_inside(add_up(round_.counters for round_ in rounds)),
    )


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


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
RatioRows = Iterator[tuple[str, int, float | None]]


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


def _under_load(cells: Cells, picture: str) -> RatioRows:
    counts = sorted(
        key.concurrency for key in cells if (key.picture, key.transport) == (picture, HTTP_ENCODED)
    )
    for count in counts:
        if process_cell := cells.get(Key(picture, IN_PROCESS, count)):
            server_cell = cells[Key(picture, HTTP_ENCODED, count)]
            yield SERVED, count, divide_throughput(server_cell.load, process_cell.load)
    if busy_cell := cells.get(Key(picture, HTTP_ENCODED, BUSY)):
        yield SPREAD, BUSY, ratio(busy_cell.load.p99_ms, busy_cell.load.p50_ms)
        if counts[-1] > BUSY:
            most = cells[Key(picture, HTTP_ENCODED, counts[-1])]
            yield SCALING, counts[-1], divide_throughput(most.load, busy_cell.load)


def _one_call(cells: Cells, picture: str) -> RatioRows:
    server, process = (cells.get(Key(picture, way, 1)) for way in (HTTP_ENCODED, IN_PROCESS))
    if (
        server
        and server.load.p50_ms is not None
        and server.plates == 0
        and process
        and process.inside
    ):
        parts = process.inside.stages_ms
        yield TAX, 1, server.load.p50_ms - parts[DETECTOR] - parts[UNPACKING]
