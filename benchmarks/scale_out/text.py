"""A run as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.scale_out.report import Cost, Impact, Scale, ScaleOutReport
from reporting.tables import Rows, format_figure, format_table


def format_report(report: ScaleOutReport) -> str:
    """Return everything that is printed about a run."""
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
    rows: Rows = [
        (
            *(one.incident, one.protocol, one.calls, one.answered, one.retried, one.lost),
            *map(format_figure, (one.longest_ms, one.before, one.during, one.after, one.seconds)),
        )
        for one in impacts
    ]
    return format_table(header, rows)


def _spread(impacts: Sequence[Impact]) -> str:
    replicas = list(impacts[0].taken) if impacts else []
    rows: Rows = [
        (one.incident, one.protocol, *(one.taken[name] for name in replicas)) for one in impacts
    ]
    return format_table(("calls given to", "", *replicas), rows)


def _scales(scales: Sequence[Scale]) -> str:
    header = (
        "replicas", "callers", "calls", "lost", "pictures/s", "to fewest", "p50 ms", "p99 ms",
        "CPU ms: servers", "balancer", "callers",
    )  # fmt: skip
    rows: Rows = [
        (
            *(one.crowd.replicas, one.crowd.callers, one.load.calls, one.lost),
            *map(format_figure, (one.load.throughput, one.to_fewest)),
            *map(format_figure, (one.load.p50_ms, one.load.p99_ms)),
            *map(format_figure, (cpu_ms.server, cpu_ms.balancer, cpu_ms.client)),
        )
        for one in scales
        for cpu_ms in [one.load.cpu_ms]
    ]
    return format_table(header, rows)


def _costs(costs: Sequence[Cost]) -> str:
    header = ("a call refused at once", "calls", "lost", "direct p50 ms", "balanced", "more")
    rows: Rows = [
        (
            *(one.protocol, one.calls, one.lost),
            *map(format_figure, (one.direct_ms, one.balanced_ms, one.more_ms)),
        )
        for one in costs
    ]
    return format_table(header, rows)


def find_notes(report: ScaleOutReport) -> Iterator[str]:
    """Give what a reader of the tables must know."""
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
    for impact in report.impacts:
        if impact.first_failure:
            yield f"{impact.incident}: the first call lost: {impact.first_failure}"
    for one in report.scales:
        if one.load.first_error:
            where = f"{one.crowd.replicas} replicas x{one.crowd.callers}"
            yield f"{where}: the first call lost: {one.load.first_error}"
