"""The promises for a fault, the signs of it for an operator, and the results of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workshop.benchmarks.camera_faults.watching import Resources
from workshop.benchmarks.fault_runs import Table
from workshop.reporting.tables import NOTHING, Cell

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Telemetry:
    """The signs for an operator since the fault."""

    log: str
    before: Metrics
    samples: Sequence[Metrics]


Sign = Callable[[Telemetry], bool]


def says(pattern: str) -> Sign:
    """Return a sign: a line of the log has this pattern."""
    return lambda telemetry: bool(re.search(pattern, telemetry.log))


def counts(name: str) -> Sign:
    """Return a sign: a counter with this start of its name has grown."""

    def has_grown(telemetry: Telemetry) -> bool:
        highest = {key: value for sample in telemetry.samples for key, value in sample.items()}
        grown = (
            value > telemetry.before.get(key, 0.0)
            for key, value in highest.items()
            if key.startswith(name)
        )
        return any(grown)

    return has_grown


def shows(name: str, is_bad: Callable[[float], bool]) -> Sign:
    """Return a sign: a gauge with this start of its name was bad at some time."""
    return lambda telemetry: any(
        is_bad(value)
        for sample in telemetry.samples
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
NOTHING_TO_TELL: tuple[Sign, ...] = (lambda _telemetry: True,)
"""A fault that harms nobody need not be told."""


@dataclass(frozen=True)
class CameraPromise:
    """The promise for a fault.

    For all faults it is promised that nothing is lost or reported wrongly.

    Attributes:
        is_blind: Cameras cannot be followed meanwhile. A vehicle that passes then need not be seen,
            and one that is there at the start or the end may be two passes.
        recover_s: Longest time from the fault's end until the cameras have their rate.
        may_not_open: The gate may stay shut.
        status: Exit status at the end of the run.
    """

    is_blind: bool = False
    recover_s: float = 10.0
    may_not_open: bool = False
    status: int | None = 0


UNNOTICED = CameraPromise()


@dataclass(frozen=True)
class Moments:
    """Moments of a run by the monotonic clock.

    Attributes:
        steady_s: The cameras had their rate.
        broken_s: The fault was made.
        healed_s: It was ended.
        back_s: The cameras had their rate again; None if they did not.
        end_s: Vehicles that were gone by then count.
        told_s: Everything was told; None if it was not.
    """

    steady_s: float
    broken_s: float
    healed_s: float
    back_s: float | None
    end_s: float
    told_s: float | None


@dataclass(frozen=True)
class Ending:
    """The end of the watch.

    Attributes:
        status: Its exit status; None if it did not end.
        after: Resources held after the recovery; None if it had ended.
        is_told: The fault stands in the log or in the metrics.
        failures: Broken promises that the fault itself has found.
    """

    status: int | None
    seconds: float
    before: Resources | None
    after: Resources | None
    is_told: bool
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class CameraRow:
    """The published results of a fault.

    Attributes:
        vehicles: Vehicles that came and went between the start and the end.
        unseen: Those of them that were not read twice.
        lost: Those that were, and are not stored or not told to a sink.
        doubled: Vehicles with several passes.
        repeated: Events that came to a sink again, with their id.
        wrong_openings: Requests to the relay that must not be.
        back_s: Time until the cameras had their rate.
        told_s: Time from the last vehicle that counts until everything was told.
        end_s: Time that the end of the command took.
    """

    name: str
    fault: str
    vehicles: int = 0
    unseen: int = 0
    lost: int = 0
    doubled: int = 0
    repeated: int = 0
    wrong_openings: int = 0
    gap_s: float = 0.0
    back_s: float | None = None
    told_s: float | None = None
    end_s: float | None = None
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: str = ""


def _to_cells(row: CameraRow) -> tuple[Cell, ...]:
    return (
        row.vehicles,
        row.unseen,
        row.lost,
        row.doubled,
        row.repeated,
        row.wrong_openings,
        *map(_seconds, (row.gap_s, row.back_s, row.told_s)),
    )


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f} s"


COUNTS = ("vehicles", "not seen", "lost", "told twice", "repeated", "wrong openings")
TABLE = Table("camera-faults", (*COUNTS, "longest gap", "cameras back", "all told"), _to_cells)
