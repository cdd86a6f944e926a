"""A run as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.figures import Figures
from benchmarks.report import figure
from evaluation.tables import aligned


def text_of(report: Figures) -> str:
    """Return everything that is printed about a run."""
    parts = (
        _incidents(report["incidents"]),
        _spread(report["incidents"]),
        _scaling(report["scaling"]),
        _cost(report["cost"]),
        "\n".join(notes(report)),
    )
    return "\n\n".join(parts)


def _incidents(rows: Sequence[Figures]) -> str:
    header = (
        "under load", "", "calls", "answered", "retried", "lost", "longest ms",
        "before /s", "during", "after", "took s",
    )  # fmt: skip
    counts = ("calls", "answered", "retried", "lost")
    measures = ("longest_ms", "before", "during", "after", "seconds")
    lines = [
        (
            row["incident"],
            row["protocol"],
            *(str(row[name]) for name in counts),
            *(figure(row[name]) for name in measures),
        )
        for row in rows
    ]
    return aligned([header, *lines])


def _spread(rows: Sequence[Figures]) -> str:
    replicas = list(rows[0]["taken"])
    lines = [
        (row["incident"], row["protocol"], *(str(row["taken"][name]) for name in replicas))
        for row in rows
    ]
    return aligned([("calls given to", "", *replicas), *lines])


def _scaling(rows: Sequence[Figures]) -> str:
    header = (
        "replicas", "callers", "calls", "lost", "pictures/s", "to fewest", "p50 ms", "p99 ms",
        "CPU ms: servers", "balancer", "callers",
    )  # fmt: skip
    lines = [
        (
            *(str(row[name]) for name in ("replicas", "concurrency", "calls", "lost")),
            *(figure(row[name]) for name in ("throughput", "to_fewest", "p50_ms", "p99_ms")),
            *(figure(row["cpu_ms"][name]) for name in ("servers", "balancer", "callers")),
        )
        for row in rows
    ]
    return aligned([header, *lines])


def _cost(rows: Sequence[Figures]) -> str:
    header = ("a call refused at once", "calls", "lost", "direct p50 ms", "balanced", "more")
    lines = [
        (
            row["protocol"],
            *(str(row[name]) for name in ("calls", "lost")),
            *(figure(row[name]) for name in ("direct_ms", "balanced_ms", "more_ms")),
        )
        for row in rows
    ]
    return aligned([header, *lines])


def notes(report: Figures) -> Iterator[str]:
    """Give what a reader of the tables must know."""
    settings = report["settings"]
    cores, each, most = settings["machine_cores"], settings["cores"], max(settings["replicas"])
    yield (
        f"{cores} cores, {each} for each replica; callers and balancer run on the same ones and "
        "take the CPU time in their columns"
    )
    if most * each > cores:
        yield (
            f"{most} replicas share {cores} cores: here the last ones bring no throughput, "
            "only that one of them can be missed"
        )
    resent = {row["incident"]: row["resent"] for row in report["incidents"] if row["resent"]}
    for incident, count in resent.items():
        yield f"{incident}: the balancer sent {count} calls again by itself"
    for row in (*report["incidents"], *report["scaling"]):
        if row["first_failure"]:
            where = row.get("incident") or f"{row['replicas']} replicas x{row['concurrency']}"
            yield f"{where}: the first call lost: {row['first_failure']}"
