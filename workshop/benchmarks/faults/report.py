"""The report of the effect of each fault on the callers, compared with the promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workshop.benchmarks.fault_runs import Table
from workshop.benchmarks.load.closed_loop import Call
from workshop.reporting.tables import NOTHING, Cell

SLOW = 2.0
"""A call was affected if it waits longer than this many times the longest earlier wait."""
MAX_CHARACTERS = 200  # characters of an error message
SPARE_S = 0.15
"""The tolerance on promised times, as the callers' process shares the cores."""


@dataclass(frozen=True)
class Promise:
    """The promise for a fault. Wrong answers are never allowed.

    Attributes:
        over_usual_s: The limit as an addition to the longest wait before the fault.
        recover_s: The time until calls are answered as before and every process is back.
    """

    longest_s: float | None = None
    over_usual_s: float | None = None
    recover_s: float | None = None
    may_refuse: bool = False
    may_lose: bool = False


@dataclass(frozen=True)
class Effect:
    """The effect of a fault on the service.

    Attributes:
        since: The start of the recovery time: when the fault was made, or when it was ended.
        failures: Broken promises that do not concern the calls.
        is_end: The service had to end: nothing recovers, and only calls in progress count.
    """

    since: float
    victims: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    is_end: bool = False


@dataclass(frozen=True)
class Observation:
    """A fault under load; times are seconds of the monotonic clock.

    Attributes:
        whole: The time when every process ran again; None if that was not seen in time.
    """

    fault: str
    callers: int
    calls: Sequence[Call]
    load_began: float
    began: float
    whole: float | None
    effect: Effect


@dataclass(frozen=True)
class Counts:
    """The results of calls.

    Attributes:
        refused: The number of refused calls, by HTTP status or gRPC code.
        wrong: Answers that differ from the one that the picture gets alone.
    """

    sent: int = 0
    answered: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    wrong: int = 0
    longest_s: float = 0.0

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Counts:
        """Count calls."""
        return cls(
            sent=len(calls),
            answered=sum(call.is_answered for call in calls),
            refused=dict(sorted(Counter(call.status for call in calls if call.is_refused).items())),
            lost=sum(call.is_lost for call in calls),
            wrong=sum(call.is_wrong for call in calls),
            longest_s=max((call.waited_s for call in calls), default=0.0),
        )

    @property
    def all_refused(self) -> int:
        return sum(self.refused.values())


@dataclass(frozen=True)
class Row:
    """The published results of a fault.

    Attributes:
        recover_s: The recovery time; None when nothing had to recover, or did not recover.
        skipped: The reason why the fault could not be made here; empty when it was.
    """

    fault: str
    callers: int = 0
    usual_rate: float = 0.0
    usual_longest_s: float = 0.0
    counts: Counts = field(default_factory=Counts)
    recover_s: float | None = None
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: str = ""


def _to_cells(row: Row) -> tuple[Cell, ...]:
    counts = row.counts
    refused = ", ".join(f"{count} ({status})" for status, count in counts.refused.items())
    return (
        f"{row.callers}, {row.usual_rate:.0f}",
        counts.sent,
        counts.answered,
        refused or 0,
        counts.lost,
        counts.wrong,
        f"{counts.longest_s:.1f} s",
        NOTHING if row.recover_s is None else f"{row.recover_s:.1f} s",
    )


COUNTS = ("sent", "answered", "refused", "lost", "wrong", "longest wait")
TABLE = Table("faults", ("callers, answers/s", *COUNTS, "recovered"), _to_cells)


def judge(observation: Observation, promise: Promise) -> Row:
    """Compare an observed fault with its promise; return its row."""
    before = [call for call in observation.calls if call.ended < observation.began]
    usual_s = max((call.waited_s for call in before), default=0.0)
    calls = (
        [call for call in observation.calls if call.began < observation.began]
        if observation.effect.is_end
        else observation.calls
    )
    row = Row(
        fault=observation.fault,
        callers=observation.callers,
        usual_rate=len(before) / (observation.began - observation.load_began),
        usual_longest_s=usual_s,
        counts=Counts.of(calls),
        recover_s=find_recovery(observation, SLOW * usual_s),
        notes=(*observation.effect.notes, *name_failures(calls)),
    )
    broken = (*observation.effect.failures, *find_broken(row, promise, observation.effect.is_end))
    return replace(row, broken=broken)


def find_recovery(observation: Observation, slow_s: float) -> float | None:
    """Return the seconds until every process was back and the last affected call was over.

    A call was affected if it was refused, lost or wrong, or waited longer than `slow_s`.
    """
    if observation.whole is None or observation.effect.is_end:
        return None
    noticed = [
        call.ended
        for call in observation.calls
        if call.ended > observation.effect.since
        and (not call.is_answered or call.is_wrong or call.waited_s > slow_s)
    ]
    return max(0.0, max([observation.whole, *noticed]) - observation.effect.since)


def find_broken(row: Row, promise: Promise, is_end: bool = False) -> Iterator[str]:
    """Yield a description of each broken part of the promise."""
    counts, limit_s = row.counts, promise.longest_s
    if counts.wrong:
        yield f"{counts.wrong} wrong answers"
    if counts.refused and not promise.may_refuse:
        yield f"{counts.all_refused} calls refused"
    if counts.lost and not promise.may_lose:
        yield f"{counts.lost} calls lost"
    if promise.over_usual_s is not None:
        limit_s = row.usual_longest_s + promise.over_usual_s
    if limit_s is not None and counts.longest_s > limit_s + SPARE_S:
        yield f"waited {counts.longest_s:.1f} s, not {limit_s:.1f}"
    if promise.recover_s is None or is_end:
        return
    if row.recover_s is None:
        yield "did not recover"
    elif row.recover_s > promise.recover_s + SPARE_S:
        yield f"recovered in {row.recover_s:.1f} s, not {promise.recover_s:.0f}"


def name_failures(calls: Sequence[Call]) -> Iterator[str]:
    """Yield the first failure of each kind, with the error that its caller got."""
    first: dict[str, Call] = {}
    for call in sorted(calls, key=lambda call: call.ended):
        if not call.is_answered or call.is_wrong:
            first.setdefault("wrong" if call.is_wrong else call.status, call)
    for status, call in first.items():
        error = f": {call.error[:MAX_CHARACTERS]}" if call.error else ""
        yield f"first {status} ({call.protocol}, call {call.number}){error}"
