"""Signs of a fault for an operator: what the watch prints, and its metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Told:
    """The signs for an operator since the fault.

    Attributes:
        log: The output on the standard error.
        before: The metrics before.
        samples: The metrics since then, in turn.
    """

    log: str
    before: Metrics
    samples: Sequence[Metrics]


Sign = Callable[[Told], bool]


def says(pattern: str) -> Sign:
    """Return a sign: a line of the log has this pattern."""
    return lambda told: bool(re.search(pattern, told.log))


def counts(name: str) -> Sign:
    """Return a sign: a counter with this start of its name has grown."""

    def has_grown(told: Told) -> bool:
        highest = {key: value for sample in told.samples for key, value in sample.items()}
        grown = (
            value > told.before.get(key, 0.0)
            for key, value in highest.items()
            if key.startswith(name)
        )
        return any(grown)

    return has_grown


def shows(name: str, is_bad: Callable[[float], bool]) -> Sign:
    """Return a sign: a gauge with this start of its name was bad at some time."""
    return lambda told: any(
        is_bad(value)
        for sample in told.samples
        for key, value in sample.items()
        if key.startswith(name)
    )


def is_zero(value: float) -> bool:
    """Tell whether a gauge shows that something is away."""
    return value == 0.0


CAMERA_AWAY: tuple[Sign, ...] = (
    counts("plates_camera_reconnects_total"),
    shows("plates_camera_up", is_zero),
)
DATABASE_AWAY: tuple[Sign, ...] = (
    shows("plates_database_up", is_zero),
    says(r"database|PostgreSQL|spool"),
)
SINK_FAILS: tuple[Sign, ...] = (counts("plates_sink_failed_attempts_total"),)
RELAY_FAILS: tuple[Sign, ...] = (says(r"gate barrier: (?!opened)"),)
NOTHING_TO_TELL: tuple[Sign, ...] = (lambda _told: True,)
"""A fault that harms nobody need not be told."""
