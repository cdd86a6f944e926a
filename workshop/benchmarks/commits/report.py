"""Computes the report of a comparison: ratios of figures with their intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workshop.benchmarks.bench.pooling import RoundFigures
from workshop.benchmarks.commits.accuracy import BASE, HEAD, Accuracy
from workshop.benchmarks.commits.measurement import Cell, Sample
from workshop.benchmarks.commits.worktrees import Commit
from workshop.evaluation.proportions import Z_95
from workshop.reporting.machine import Machine

T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The two-sided 95 % quantiles of Student's distribution, from one degree of freedom on."""


@dataclass(frozen=True)
class Estimate:
    """A ratio and its interval; `low` and `high` are None with a single round."""

    value: float
    low: float | None = None
    high: float | None = None


def estimate_ratio(logs: Sequence[float]) -> Estimate:
    """Return the geometric mean of ratios, with its 95 % confidence interval.

    Each round gives one ratio. So the interval includes all that differs between rounds: the
    noise of the machine, and the chance in each start of a server.

    Args:
        logs: The natural logarithm of the ratio of each round; at least one.

    Source: Student 1908, "The probable error of a mean"; Kalibera and Jones 2013, "Rigorous
    benchmarking in reasonable time".
    """
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Estimate(math.exp(mean))
    spread = quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Estimate(math.exp(mean), math.exp(mean - spread), math.exp(mean + spread))


def quantile(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's distribution.

    Source of the expansion beyond the table: Abramowitz and Stegun 1964, 26.7.5.
    """
    if freedom <= len(T_95):
        return T_95[freedom - 1]
    first = (Z_95**3 + Z_95) / 4
    second = (5 * Z_95**5 + 16 * Z_95**3 + 3 * Z_95) / 96
    return Z_95 + first / freedom + second / freedom**2


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Attributes:
        read: Returns the figure of one measurement; None when it has none.
        more: The words for a head with a higher figure; `less` for a lower one.
    """

    title: str
    read: Callable[[RoundFigures], float | None]
    more: str
    less: str


KINDS = (
    Kind("calls/s", lambda figures: figures.throughput, "faster", "slower"),
    Kind("CPU ms a call", lambda figures: figures.cpu_ms, "more CPU", "less CPU"),
    Kind("p50 ms", lambda figures: figures.p50_ms, "longer", "shorter"),
)


@dataclass(frozen=True)
class Figure:
    """A figure at both commits, and its ratio.

    Attributes:
        picture: The picture; empty for all pictures together.
        base: The figure at the base: the geometric mean of all measurements; likewise `head`.
    """

    title: str
    picture: str
    calls: int
    base: float
    head: float
    ratio: Estimate


@dataclass(frozen=True)
class CommitReport:
    """The report of a comparison.

    Attributes:
        figures: The figures of all pictures together, then of each picture if there are several.
    """

    date: str
    base: Commit
    head: Commit
    machine: Machine
    rounds: int
    seconds: float
    options: tuple[str, ...]
    figures: tuple[Figure, ...]
    accuracy: tuple[Accuracy, ...]
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    errors: int = 0
    ended: str = ""

    @property
    def has_failed(self) -> bool:
        return bool(self.errors or self.ended)


def find_figures(samples: Sequence[Sample]) -> tuple[Figure, ...]:
    """Return every figure that both commits have: of all pictures together, then of each."""
    cells = sorted({Cell(sample.picture, sample.calls) for sample in samples})
    pictures = [*dict.fromkeys(cell.picture for cell in cells)]
    groups = [("", pictures), *((picture, [picture]) for picture in pictures if len(pictures) > 1)]
    return tuple(
        figure
        for name, members in groups
        for calls in sorted({cell.calls for cell in cells})
        for figure in _of_a_group(samples, name, [Cell(picture, calls) for picture in members])
    )


def _of_a_group(samples: Sequence[Sample], name: str, cells: Sequence[Cell]) -> Iterator[Figure]:
    for kind in KINDS:
        means = {
            (number, side, cell): _mean_log(
                kind.read(sample.figures)
                for sample in samples
                if (sample.round, sample.side, sample.picture, sample.calls)
                == (number, side, *cell)
            )
            for number in dict.fromkeys(sample.round for sample in samples)
            for side in (BASE, HEAD)
            for cell in cells
        }
        if figure := _divide(kind.title, name, cells, means):
            yield figure


def _divide(
    title: str,
    name: str,
    cells: Sequence[Cell],
    means: dict[tuple[int, str, Cell], float | None],
) -> Figure | None:
    """Return a figure from the mean logarithm of each round, side and cell; None without any."""
    by_side: dict[str, list[float]] = {BASE: [], HEAD: []}
    for number in dict.fromkeys(number for number, _, _ in means):
        of_round = {side: [means[number, side, cell] for cell in cells] for side in by_side}
        logs_by_side = {
            side: [log for log in logs if log is not None] for side, logs in of_round.items()
        }
        if all(len(logs) == len(cells) for logs in logs_by_side.values()):
            for side, logs in logs_by_side.items():
                by_side[side].append(statistics.fmean(logs))
    if not by_side[BASE]:
        return None
    ratios = [new - old for old, new in zip(by_side[BASE], by_side[HEAD], strict=True)]
    base, head = (math.exp(statistics.fmean(by_side[side])) for side in (BASE, HEAD))
    return Figure(title, name, cells[0].calls, base, head, estimate_ratio(ratios))


def _mean_log(values: Iterable[float | None]) -> float | None:
    """Return the mean logarithm; None when a value is missing or 0."""
    numbers = [*values]
    if not numbers or not all(numbers):
        return None
    return statistics.fmean(math.log(value) for value in numbers if value)
