"""The report of a run: what each incident cost the callers, what replicas bring."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.load import Round
from benchmarks.pooling import LoadFigures, divide_by_round, pool
from benchmarks.scale_out.balancer import PROTOCOLS
from benchmarks.scale_out.callers import CheckedCall
from benchmarks.scale_out.incidents import Incident
from benchmarks.scale_out.scaling import BALANCED, DIRECT, Crowd, Options, Way
from reporting.machine import Machine


@dataclass(frozen=True)
class Impact:
    """What the callers of one protocol noticed of an incident.

    Attributes:
        incident: Its name.
        protocol: `http` or `grpc`.
        calls: All, before and after it too.
        answered: Rightly.
        retried: How often the client sent one again.
        lost: Without a right answer.
        first_failure: What the first of them was told; empty without one.
        longest_ms: That a caller waited.
        before: Answers a second before it.
        during: Likewise.
        after: Likewise.
        seconds: That it took.
        resent: Calls that the balancer sent again by itself.
        taken: Calls given to each replica.
    """

    incident: str
    protocol: str
    calls: int
    answered: int
    retried: int
    lost: int
    first_failure: str
    longest_ms: float
    before: float
    during: float
    after: float
    seconds: float
    resent: int
    taken: Mapping[str, int]


@dataclass(frozen=True)
class Scale:
    """So many replicas under so many callers.

    Attributes:
        crowd: How many.
        load: What they did.
        to_fewest: Throughput divided by that of the fewest replicas, round by round.
    """

    crowd: Crowd
    load: LoadFigures
    to_fewest: float | None

    @property
    def lost(self) -> int:
        return self.load.errors + self.load.refused


@dataclass(frozen=True)
class Cost:
    """What the balancer adds to a call; medians."""

    protocol: str
    calls: int
    lost: int
    direct_ms: float
    balanced_ms: float
    more_ms: float


@dataclass(frozen=True)
class ScaleOutReport:
    """A run."""

    machine: Machine
    options: Options
    impacts: tuple[Impact, ...]
    scales: tuple[Scale, ...]
    costs: tuple[Cost, ...]

    @property
    def lost(self) -> int:
        """Calls of the whole run that had no right answer."""
        parts: tuple[Sequence[Impact | Scale | Cost], ...]
        parts = (self.impacts, self.scales, self.costs)
        return sum(one.lost for part in parts for one in part)


def find_impacts(incident: Incident) -> list[Impact]:
    """Return a row for each protocol."""
    called = {call.protocol for call in incident.calls}
    return [_find_impact(incident, name) for name in PROTOCOLS.values() if name in called]


def _find_impact(incident: Incident, protocol: str) -> Impact:
    calls = [call for call in incident.calls if call.protocol == protocol]
    failures = [call.failure for call in calls if call.failure]
    return Impact(
        incident=incident.name,
        protocol=protocol,
        calls=len(calls),
        answered=len(calls) - len(failures),
        retried=sum(call.retried for call in calls),
        lost=len(failures),
        first_failure=next(iter(failures), ""),
        longest_ms=max(call.ms for call in calls),
        before=_rate(calls, incident.load_began, incident.began),
        during=_rate(calls, incident.began, incident.ended),
        after=_rate(calls, incident.ended, incident.load_ended),
        seconds=incident.ended - incident.began,
        resent=incident.resent,
        taken={name: counts[protocol] for name, counts in incident.taken.items()},
    )


def _rate(calls: Sequence[CheckedCall], began: float, ended: float) -> float:
    """Return the answers a second between two moments."""
    answers = sum(began <= call.ended < ended for call in calls if not call.failure)
    return answers / (ended - began)


def compare_scales(rounds: Mapping[Crowd, Sequence[Round]]) -> list[Scale]:
    """Return a row for each crowd."""
    loads = {crowd: pool(many) for crowd, many in sorted(rounds.items())}
    fewest = min((crowd.replicas for crowd in loads), default=0)
    return [
        Scale(
            crowd,
            load,
            divide_by_round(load, loads[Crowd(fewest, crowd.callers)], lambda one: one.throughput),
        )
        for crowd, load in loads.items()
    ]


def compare_ways(rounds: Mapping[Way, Sequence[Round]]) -> list[Cost]:
    """Return a row for each protocol."""
    return [_cost(protocol, rounds) for protocol in dict.fromkeys(way.protocol for way in rounds)]


def _cost(protocol: str, rounds: Mapping[Way, Sequence[Round]]) -> Cost:
    direct, balanced = (rounds[Way(protocol, by)] for by in (DIRECT, BALANCED))
    medians = [[statistics.median(one.latencies_ms) for one in many] for many in (direct, balanced)]
    return Cost(
        protocol=protocol,
        calls=sum(len(one.latencies_ms) for one in (*direct, *balanced)),
        lost=sum(one.errors + one.refused for one in (*direct, *balanced)),
        direct_ms=statistics.median(medians[0]),
        balanced_ms=statistics.median(medians[1]),
        more_ms=statistics.median(b - a for a, b in zip(*medians, strict=True)),
    )
