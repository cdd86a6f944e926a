"""The report of a run: the effect of incidents, the gain of replicas, the balancer's cost."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workshop.benchmarks.load.closed_loop import Call
from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.pooling import LoadFigures, divide_throughput, pool
from workshop.benchmarks.scale_out.balancer import PROTOCOLS
from workshop.benchmarks.scale_out.incidents import Incident
from workshop.benchmarks.scale_out.scaling import BALANCED, DIRECT, Concurrency, Options, Route
from workshop.reporting.machine import Machine


@dataclass(frozen=True)
class Impact:
    """The effect of an incident on the callers of one protocol.

    Attributes:
        calls: The number of calls before, during and after the incident. They are either
            `answered` rightly or `lost`.
        before: Answers a second before the incident; likewise `during` and `after`.
        resent: The number of calls that the balancer itself retried.
    """

    incident: str
    protocol: str
    calls: int
    answered: int
    retried: int
    lost: int
    longest_ms: float
    before: float
    during: float
    after: float
    seconds: float
    resent: int
    taken: Mapping[str, int]
    first_failure: str


@dataclass(frozen=True)
class Scale:
    """The results for one number of replicas and callers.

    Attributes:
        to_fewest: Throughput relative to that of the fewest replicas, round by round.
    """

    concurrency: Concurrency
    load: LoadFigures
    to_fewest: float | None


@dataclass(frozen=True)
class Cost:
    """The latency that the balancer adds to a call; medians."""

    protocol: str
    calls: int
    lost: int
    direct_ms: float
    balanced_ms: float
    more_ms: float


@dataclass(frozen=True)
class ScaleOutReport:
    """The results of a run."""

    machine: Machine
    options: Options
    impacts: tuple[Impact, ...]
    scales: tuple[Scale, ...]
    costs: tuple[Cost, ...]

    @property
    def lost(self) -> int:
        """The number of calls in the whole run without a right answer."""
        scales = sum(one.load.lost for one in self.scales)
        return scales + sum(one.lost for one in self.impacts) + sum(o.lost for o in self.costs)


def find_impacts(incident: Incident) -> list[Impact]:
    """Return a row for each protocol."""
    called = {call.protocol for call in incident.calls}
    return [_find_impact(incident, name) for name in PROTOCOLS.values() if name in called]


def _find_impact(incident: Incident, protocol: str) -> Impact:
    calls = [call for call in incident.calls if call.protocol == protocol]
    failures = [call.error for call in calls if call.error]
    return Impact(
        incident=incident.name,
        protocol=protocol,
        calls=len(calls),
        answered=len(calls) - len(failures),
        retried=sum(call.retries for call in calls),
        lost=len(failures),
        first_failure=next(iter(failures), ""),
        longest_ms=1e3 * max(call.waited_s for call in calls),
        before=_rate(calls, incident.load_began, incident.began),
        during=_rate(calls, incident.began, incident.ended),
        after=_rate(calls, incident.ended, incident.load_ended),
        seconds=incident.ended - incident.began,
        resent=incident.resent,
        taken={name: counts[protocol] for name, counts in incident.taken.items()},
    )


def _rate(calls: Sequence[Call], began: float, ended: float) -> float:
    """Return the number of answers a second between two moments."""
    answers = sum(began <= call.ended < ended for call in calls if not call.error)
    return answers / (ended - began)


def compare_scales(rounds: Mapping[Concurrency, Sequence[Round]]) -> list[Scale]:
    """Return a row for each number of replicas and callers."""
    loads = {key: pool(many) for key, many in sorted(rounds.items())}
    fewest = min((key.replicas for key in loads), default=0)
    return [
        Scale(key, load, divide_throughput(load, loads[Concurrency(fewest, key.callers)]))
        for key, load in loads.items()
    ]


def compare_routes(rounds: Mapping[Route, Sequence[Round]]) -> list[Cost]:
    """Return a row for each protocol."""
    return [
        _compare(protocol, *(rounds[Route(protocol, by)] for by in (DIRECT, BALANCED)))
        for protocol in dict.fromkeys(protocol for protocol, _ in rounds)
    ]


def _compare(protocol: str, direct: Sequence[Round], balanced: Sequence[Round]) -> Cost:
    medians = [[statistics.median(one.latencies_ms) for one in many] for many in (direct, balanced)]
    both = pool([*direct, *balanced])
    return Cost(
        protocol=protocol,
        calls=both.calls,
        lost=both.lost,
        direct_ms=statistics.median(medians[0]),
        balanced_ms=statistics.median(medians[1]),
        more_ms=statistics.median(b - a for a, b in zip(*medians, strict=True)),
    )
