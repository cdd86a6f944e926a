"""Formats a report as text: a table, and the verdict in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from workshop.benchmarks.soak.report import FILES, SHM, Quantity, SoakReport
from workshop.benchmarks.soak.trends import Trend
from workshop.reporting.tables import Cell, format_figure, format_table

HEADER = ("", "MiB after the warm-up", "at the end", "per 1,000 calls", "descriptors", "threads")
WORDS = {"memory_mb": "memory, MiB", "MiB": "MiB"}


def format_report(report: SoakReport, length: str) -> str:
    """Return the whole report."""
    parts = [describe_run(report, length), format_table(HEADER, list_rows(report))]
    return "\n\n".join([*parts, "\n".join([*describe_limits(report), *describe_verdict(report)])])


def describe_run(report: SoakReport, length: str) -> str:
    """Return one sentence about the load and the results of the calls."""
    calls, seconds = report.calls, report.seconds
    latency = f"p50 {calls.p50_ms:.0f} ms, p95 {calls.p95_ms:.0f} ms" if calls.p50_ms else "none"
    return (
        f"{length} by {report.callers} callers: {calls.ended:,} calls in "
        f"{format_duration(seconds)}, {calls.ended / seconds:.0f} calls/s; "
        f"answered {calls.answered:,} ({latency}), "
        f"refused with the right error {calls.refused:,}, hung up {calls.dropped:,}, "
        f"wrong {calls.failed:,}."
    )


def format_duration(seconds: float) -> str:
    """Return a duration in words."""
    return f"{seconds / 60:.0f} minutes" if seconds >= 600 else f"{seconds:.0f} s"


def list_rows(report: SoakReport) -> list[list[Cell]]:
    """Return a row for each role, and one for /dev/shm."""
    trends = {(quantity.of, quantity.name): quantity.trend for quantity in report.quantities}
    roles = dict.fromkeys(
        quantity.of for quantity in report.quantities if quantity.of not in (SHM, FILES)
    )
    rows: list[list[Cell]] = [
        [role, *_format_trend(trends[role, "memory_mb"]),
         *(_format_ends(trends[role, name]) for name in ("descriptors", "threads"))]
        for role in roles
    ]  # fmt: skip
    return [*rows, [SHM, *_format_trend(trends[SHM, "MiB"]), None, None]]


def _format_trend(trend: Trend) -> tuple[str, str, str]:
    slope = "?" if trend.per_1000 is None else f"{trend.per_1000:+.2f}"
    return f"{trend.first:.1f}", f"{trend.last:.1f}", slope


def _format_ends(trend: Trend) -> str:
    first, last = f"{trend.first:.0f}", f"{trend.last:.0f}"
    return first if first == last else f"{first} to {last}"


def describe_limits(report: SoakReport) -> Iterator[str]:
    """Yield a sentence with the highest allowed slopes in a run of this length."""
    limits: dict[str, float] = {}
    for quantity in report.quantities:
        limits[quantity.name] = max(quantity.trend.limit, limits.get(quantity.name, 0.0))
    names = {"memory_mb": "MiB of a role", "MiB": f"MiB of {SHM}"}
    texts = (f"{format_figure(limits[name])} {names.get(name, name)}" for name in limits)
    yield f"Limits per 1,000 calls: {', '.join(texts)}."


def describe_verdict(report: SoakReport) -> Iterator[str]:
    """Yield a sentence for each problem, or one that says that nothing grows."""
    if report.ended:
        yield f"The run ended early: {report.ended}."
    if not report.is_judged:
        yield "Too few samples after the warm-up to tell whether anything grows."
    for quantity in report.growing:
        yield f"GROWS: {_describe_growth(quantity)}."
    if report.drift:
        yield _describe_drift(report)
    for words in (report.wrong, report.replaced, report.left):
        yield from words
    if not report.has_failed:
        yield "Nothing grows."


def _describe_growth(quantity: Quantity) -> str:
    what = WORDS.get(quantity.name, quantity.name)
    slope, limit = format_figure(quantity.trend.per_1000), format_figure(quantity.trend.limit)
    return f"{quantity.of}, {what}: {slope} per 1,000 calls, at most {limit}"


def _describe_drift(report: SoakReport) -> str:
    drift = report.drift
    assert drift is not None
    word = "SLOWER" if drift.grows else "Latency"
    return (
        f"{word}: median of the second quarter {drift.early_ms:.0f} ms, of the last "
        f"{drift.late_ms:.0f} ms, {drift.ratio:.2f} times, at most {drift.limit:g}."
    )
