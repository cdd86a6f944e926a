"""Prints the figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from workshop.benchmarks.fleet.simulation import Outcome
from workshop.reporting.tables import format_table

DAY_GB = 86400 / 1e9
"""Gigabytes a day for a byte a second."""


@dataclass(frozen=True)
class Growth:
    """Bytes that a run has added.

    Attributes:
        database: To the database.
        pictures: To the folder of pictures.
    """

    database: int
    pictures: int


def print_report(outcome: Outcome, growth: Growth) -> None:
    """Print rates, CPU times, delays and times of calls."""
    print(format_table(("figure", "value"), _describe(outcome, growth)))
    cpu = outcome.cpu_s.items()
    rows = [
        (role, f"{1000 * cpu_s / outcome.passes:.2f}", f"{cpu_s / outcome.seconds:.2f}")
        for role, cpu_s in cpu
    ]
    print(format_table(("CPU of", "ms a pass", "cores"), rows))
    header = ("from the event", "p50 ms", "p99 ms", "most ms")
    delays = _delays_ms(outcome).items()
    print(format_table(header, [(name, *_spread(times)) for name, times in delays]))
    calls = [
        (name, str(len(times)), *_spread(times))
        for name, times in outcome.arrivals.calls_ms.items()
    ]
    print(format_table(("call of REST", "calls", "p50 ms", "p99 ms", "most ms"), calls))


def _describe(outcome: Outcome, growth: Growth) -> list[tuple[str, str]]:
    arrivals = outcome.arrivals
    shown = [len(one) for one in arrivals.people_s]
    lost = sum(len(outcome.put_s) - count for count in shown)
    undelivered = len(outcome.posted) - len(arrivals.webhook_s)
    return [
        ("passes a second", f"{_rate(outcome):.1f}"),
        ("events that waited for the store, most", str(outcome.waited)),
        ("events in a transaction", f"{len(outcome.put_s) / max(1, outcome.writes):.1f}"),
        ("share of the time in which the store wrote", f"{outcome.busy_share:.2f}"),
        ("events that the webhook did not get in a minute", str(undelivered)),
        ("people with an open stream", str(len(shown))),
        ("events that a person did not get in a minute", str(lost)),
        ("streams that ended too early", str(arrivals.reconnected)),
        ("calls refused", ", ".join(f"{k} x{n}" for k, n in arrivals.refused.items()) or "0"),
        ("database a pass, KB", f"{growth.database / outcome.passes / 1e3:.1f}"),
        ("database a day, GB", f"{_rate(outcome) * growth.database / outcome.passes * DAY_GB:.0f}"),
        ("pictures a day, GB", f"{_rate(outcome) * growth.pictures / outcome.passes * DAY_GB:.0f}"),
    ]


def _rate(outcome: Outcome) -> float:
    """Return the passes that began in a second; it falls when events wait for the store."""
    begun_s = [at_s for (_, kind), at_s in outcome.put_s.items() if kind == "agreed"]
    return len(begun_s) / (max(begun_s) - min(begun_s))


def _delays_ms(outcome: Outcome) -> Mapping[str, list[float]]:
    put_s, came_s = outcome.put_s, outcome.arrivals.webhook_s
    posted = {key: came_s.get(f"{key[0]}_{key[1]}_0") for key in outcome.posted}
    shown = [
        1000 * (at_s - put_s[key])
        for person in outcome.arrivals.people_s
        for key, at_s in person.items()
        if key in put_s
    ]
    return {
        "to the store": [1000 * (outcome.written_s[key] - at_s) for key, at_s in put_s.items()],
        "to the webhook": [1000 * (at_s - put_s[key]) for key, at_s in posted.items() if at_s],
        "to a page, by its stream of events": shown,
    }


def _spread(times: Sequence[float]) -> tuple[str, ...]:
    """Return median, 99th percentile and the longest."""
    if len(times) < 2:
        return ("-", "-", "-")
    percentiles = quantiles(times, n=100, method="inclusive")
    return tuple(f"{one:.0f}" for one in (median(times), percentiles[98], max(times)))
