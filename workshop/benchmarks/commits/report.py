"""Computes the report of a comparison: ratios of figures with their intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workshop.benchmarks.bench.pooling import RoundFigures
from workshop.benchmarks.commits.accuracy import BASE, HEAD, Accuracy
from workshop.benchmarks.commits.estimates import Estimate, estimate_ratio
from workshop.benchmarks.commits.measurement import Cell, Sample
from workshop.benchmarks.commits.worktrees import Commit
from workshop.reporting.machine import Machine


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Attributes:
        title: Its name and unit.
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
        title: The title of its kind.
        picture: The picture; empty for all pictures together.
        calls: The calls at once.
        base: The figure at the base: the geometric mean of all measurements; likewise `head`.
        ratio: head / base.
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
        rounds: The number of complete rounds.
        options: Further options of both servers.
        figures: The figures of all pictures together, then of each picture if there are several.
        samples: All measurements.
        notes: Remarks that a reader needs beside the figures.
        errors: The number of calls that failed.
        ended: The reason why the run ended early; empty when it did not.
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
        known = {side: [log for log in logs if log is not None] for side, logs in of_round.items()}
        if all(len(logs) == len(cells) for logs in known.values()):
            for side, logs in known.items():
                by_side[side].append(statistics.fmean(logs))
    if not by_side[BASE]:
        return None
    ratios = [new - old for old, new in zip(by_side[BASE], by_side[HEAD], strict=True)]
    base, head = (math.exp(statistics.fmean(by_side[side])) for side in (BASE, HEAD))
    return Figure(title, name, cells[0].calls, base, head, estimate_ratio(ratios))


def _mean_log(values: Iterable[float | None]) -> float | None:
    """Return the mean logarithm; None when a value is missing or 0."""
    known = [*values]
    if not known or not all(known):
        return None
    return statistics.fmean(math.log(value) for value in known if value)
