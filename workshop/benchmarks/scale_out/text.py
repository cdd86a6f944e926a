"""Formats the report of a run as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from workshop.benchmarks.scale_out.report import Cost, Impact, Scale, ScaleOutReport
from workshop.benchmarks.text import format_rows


def format_report(report: ScaleOutReport) -> str:
    """Return the text that is printed about a run."""
    parts = (
        _impacts(report.impacts),
        _spread(report.impacts),
        _scales(report.scales),
        _costs(report.costs),
        "\n".join(find_notes(report)),
    )
    return "\n\n".join(filter(None, parts))


def _impacts(impacts: Sequence[Impact]) -> str:
    header = (
        "under load", "", "calls", "answered", "retried", "lost", "longest ms",
        "before /s", "during", "after", "took s",
    )  # fmt: skip
    return format_rows(header, (astuple(one)[: len(header)] for one in impacts))


def _spread(impacts: Sequence[Impact]) -> str:
    replicas = list(impacts[0].taken) if impacts else []
    return format_rows(
        ("calls given to", "", *replicas),
        ((one.incident, one.protocol, *(one.taken[name] for name in replicas)) for one in impacts),
    )


def _scales(scales: Sequence[Scale]) -> str:
    header = (
        "replicas", "callers", "calls", "lost", "pictures/s", "to fewest", "p50 ms", "p99 ms",
        "CPU ms: servers", "balancer", "callers",
    )  # fmt: skip
    return format_rows(
        header,
        (
            (
                *(one.concurrency.replicas, one.concurrency.callers, load.calls, load.lost),
                *(load.throughput, one.to_fewest, load.p50_ms, load.p99_ms),
                *(load.cpu_ms.server, load.cpu_ms.balancer, load.cpu_ms.client),
            )
            for one in scales
            for load in [one.load]
        ),
    )


def _costs(costs: Sequence[Cost]) -> str:
    header = ("a call refused at once", "calls", "lost", "direct p50 ms", "balanced", "more")
    return format_rows(header, map(astuple, costs))


def find_notes(report: ScaleOutReport) -> Iterator[str]:
    """Yield the notes that a reader of the tables needs."""
    cores, each, most = report.machine.cores, report.options.cores, max(report.options.replicas)
    yield (
        f"{cores} cores, {each} for each replica; callers and balancer run on the same ones and "
        "take the CPU time in their columns"
    )
    if most * each > cores:
        yield (
            f"{most} replicas share {cores} cores: here the last ones bring no throughput, "
            "only that one of them can be missed"
        )
    resent = {one.incident: one.resent for one in report.impacts if one.resent}
    for incident, count in resent.items():
        yield f"{incident}: the balancer sent {count} calls again by itself"
    failures = [(one.incident, one.first_failure) for one in report.impacts]
    for one in report.scales:
        failures.append((str(one.concurrency), one.load.first_error))
    for where, failure in failures:
        if failure:
            yield f"{where}: the first call lost: {failure}"
