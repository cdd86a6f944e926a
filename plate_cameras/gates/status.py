"""The state of gates, for tables and metrics."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from plate_cameras.store.openings.gate_openings import FAILED, OPENED, REFUSED, UNKNOWN, GateOpening

BOUNDS_S = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Bounds of the delays' histogram."""


@dataclass
class DelayHistogram:
    """Counts delays by their bounds.

    Attributes:
        counts: Delays up to each bound of `BOUNDS_S`, and longer ones.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    sum_s: float = 0.0

    def add(self, delay_s: float) -> None:
        self.counts[bisect_left(BOUNDS_S, delay_s)] += 1
        self.sum_s += delay_s


@dataclass
class GateStatus:
    """The state of one gate.

    Attributes:
        waiting: Vehicles that wait for their turn.
        failure: Why the gate did not open for the last vehicle; empty if it opened.
        absence: Why the relay did not answer the last check; empty if it did.
    """

    name: str
    outcomes: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((OPENED, UNKNOWN, FAILED, REFUSED), 0)
    )
    waiting: int = 0
    delays: DelayHistogram = field(default_factory=DelayHistogram)
    failure: str = ""
    absence: str = ""

    @property
    def error(self) -> str:
        """The present fault; empty when all is well."""
        return self.failure or self.absence

    def count(self, opening: GateOpening) -> None:
        """Count a record of this gate."""
        self.outcomes[opening.outcome] += 1
        if opening.delay_s is not None:
            self.delays.add(opening.delay_s)
