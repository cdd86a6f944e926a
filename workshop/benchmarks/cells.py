"""The figures of a cell of the grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.metrics import Inside, add_up, look_inside
from workshop.benchmarks.plan import Key
from workshop.benchmarks.pooling import LoadFigures, pool
from workshop.benchmarks.processes import Peaks


@dataclass(frozen=True)
class CellFigures:
    """The figures of a cell over all its rounds.

    Attributes:
        plates: The number of plates in the answers; None without an answer.
        peaks: The highest memory use of any round.
        inside: The parts of the time of a picture; None when they were not measured.
    """

    key: Key
    plates: int | None
    load: LoadFigures
    peaks: Peaks
    inside: Inside | None


def sum_up(key: Key, rounds: Sequence[Round]) -> CellFigures:
    """Return the figures of a cell."""
    return CellFigures(
        key=key,
        plates=_most(one.plates for one in rounds),
        load=pool(rounds),
        peaks=Peaks(
            _most(one.peaks.memory_bytes for one in rounds),
            _most(one.peaks.shm_bytes for one in rounds),
        ),
        inside=look_inside(add_up(one.counters for one in rounds)),
    )


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
