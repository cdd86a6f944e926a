"""From the rounds of a load to its figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from benchmarks.load import Cpu, Round
from reporting.comparison import ratio


@dataclass(frozen=True)
class RoundFigures:
    """One round's; None where nothing was answered or measured."""

    throughput: float
    p50_ms: float | None
    cpu_ms: float | None


@dataclass(frozen=True)
class LoadFigures:
    """What the rounds of a load come to.

    Attributes:
        calls: That were answered.
        refused: Calls that the server had no capacity for; no errors.
        throughput: Pictures a second, the median of the rounds.
        p50_ms: Of the latencies of all rounds together, like `p99_ms`.
        cpu_ms: For each call.
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
    def lost(self) -> int:
        """Calls that were not answered, for whatever reason."""
        return self.errors + self.refused


def pool(rounds: Sequence[Round]) -> LoadFigures:
    """Put the rounds of a load together; there is at least one."""
    latencies = [ms for one in rounds for ms in one.latencies_ms]
    by_round = tuple(map(_of_a_round, rounds))
    return LoadFigures(
        calls=len(latencies),
        errors=sum(one.errors for one in rounds),
        refused=sum(one.refused for one in rounds),
        first_error=next((one.first_error for one in rounds if one.first_error), ""),
        throughput=statistics.median(one.throughput for one in by_round),
        p50_ms=percentile(latencies, 50),
        p99_ms=percentile(latencies, 99),
        cpu_ms=_cpu_ms(rounds),
        by_round=by_round,
    )


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return a percentile, None of nothing."""
    return float(np.percentile(values, percent)) if values else None


def divide_by_round(
    above: LoadFigures, below: LoadFigures, figure: Callable[[RoundFigures], float | None]
) -> float | None:
    """Divide what was measured next to each other; the median of the rounds that both have."""
    pairs = zip(above.by_round, below.by_round, strict=False)
    found = [ratio(figure(one), figure(other)) for one, other in pairs]
    values = [value for value in found if value is not None]
    return statistics.median(values) if values else None


def _of_a_round(one: Round) -> RoundFigures:
    return RoundFigures(one.throughput, percentile(one.latencies_ms, 50), _cpu_ms([one]).server)


def _cpu_ms(rounds: Sequence[Round]) -> Cpu:
    calls = sum(len(one.latencies_ms) for one in rounds)
    sides = zip(*(astuple(one.cpu_s) for one in rounds), strict=True)
    return Cpu(*(1e3 * sum(s) / calls if calls and None not in s else None for s in sides))
