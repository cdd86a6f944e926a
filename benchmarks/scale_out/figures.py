"""From records and samples to the rows of the tables."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.figures import Figures, percentile
from benchmarks.load import Sample
from benchmarks.scale_out.balancer import PROTOCOLS
from benchmarks.scale_out.callers import Call
from benchmarks.scale_out.incidents import Record
from benchmarks.scale_out.scaling import BALANCED, DIRECT, Cell, Way


def incident(record: Record) -> list[Figures]:
    """Return a row for each protocol."""
    called = {call.protocol for call in record.calls}
    return [_incident(record, protocol) for protocol in PROTOCOLS.values() if protocol in called]


def _incident(record: Record, protocol: str) -> Figures:
    calls = [call for call in record.calls if call.protocol == protocol]
    failures = [call.failure for call in calls if call.failure]
    return {
        "incident": record.name,
        "protocol": protocol,
        "calls": len(calls),
        "answered": len(calls) - len(failures),
        "retried": sum(call.retried for call in calls),
        "lost": len(failures),
        "first_failure": next(iter(failures), ""),
        "longest_ms": max(call.ms for call in calls),
        "before": _rate(calls, record.load_began, record.began),
        "during": _rate(calls, record.began, record.ended),
        "after": _rate(calls, record.ended, record.load_ended),
        "seconds": record.ended - record.began,
        "resent": record.resent,
        "taken": {name: counts[protocol] for name, counts in record.taken.items()},
    }


def _rate(calls: Sequence[Call], began: float, ended: float) -> float:
    """Return the answers a second between two moments."""
    answers = sum(began <= call.ended < ended for call in calls if not call.failure)
    return answers / (ended - began)


def scaling(samples: Mapping[Cell, Sequence[Sample]]) -> list[Figures]:
    """Return a row for each cell; `to_fewest` divides by the fewest replicas, round by round."""
    fewest = min((cell.replicas for cell in samples), default=0)
    return [
        _scaling(cell, many, samples[cell._replace(replicas=fewest)])
        for cell, many in sorted(samples.items())
    ]


def _scaling(cell: Cell, many: Sequence[Sample], fewest: Sequence[Sample]) -> Figures:
    latencies = [ms for sample in many for ms in sample.latencies_ms]
    pairs = zip(many, fewest, strict=True)
    return {
        **cell._asdict(),
        "calls": len(latencies),
        "lost": sum(sample.errors + sample.refused for sample in many),
        "first_failure": next((one.first_error for one in many if one.first_error), ""),
        "throughput": statistics.median(sample.throughput for sample in many),
        "throughput_by_round": [sample.throughput for sample in many],
        "to_fewest": statistics.median(a.throughput / b.throughput for a, b in pairs),
        "p50_ms": percentile(latencies, 50),
        "p99_ms": percentile(latencies, 99),
        "cpu_ms": {
            name: 1e3 * sum(sample.used[name] for sample in many) / len(latencies)
            for name in many[0].used
        },
    }


def cost(samples: Mapping[Way, Sequence[Sample]]) -> list[Figures]:
    """Return a row for each protocol."""
    return [_cost(protocol, samples) for protocol in dict.fromkeys(way.protocol for way in samples)]


def _cost(protocol: str, samples: Mapping[Way, Sequence[Sample]]) -> Figures:
    direct, balanced = (samples[Way(protocol, by)] for by in (DIRECT, BALANCED))
    medians = [
        [statistics.median(sample.latencies_ms) for sample in many] for many in (direct, balanced)
    ]
    return {
        "protocol": protocol,
        "calls": sum(len(sample.latencies_ms) for sample in (*direct, *balanced)),
        "lost": sum(sample.errors + sample.refused for sample in (*direct, *balanced)),
        "direct_ms": statistics.median(medians[0]),
        "balanced_ms": statistics.median(medians[1]),
        "more_ms": statistics.median(b - a for a, b in zip(*medians, strict=True)),
    }


def lost(report: Mapping[str, Sequence[Figures]]) -> int:
    """Return how many calls of a whole run had no right answer."""
    return sum(row["lost"] for part in ("incidents", "scaling", "cost") for row in report[part])
