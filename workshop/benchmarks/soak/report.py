"""The report of a soak run: growth, answers and errors, and its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from workshop.benchmarks.soak.samples import QUANTITIES, Calls
from workshop.benchmarks.soak.trends import Allowance, Drift, Trend, judge, judge_drift
from workshop.reporting.machine import Machine
from workshop.reporting.tables import Cell, format_figure, format_table

ALLOWANCES = {
    # An arena that gets its first large picture late keeps 6 MiB for it. There are eight arenas for
    # each core; 64 MiB are ten of them. 0.1 MiB per 1,000 calls is 86 MiB a day at ten a second.
    "memory_mb": Allowance(noise=64.0, per_1000=0.1),
    # One end of a connection may stay open longer than the other, for each caller.
    "descriptors": Allowance(noise=4.0, per_1000=0.05),
    "threads": Allowance(noise=4.0, per_1000=0.05),
}
"""The allowed growth of each quantity of a role."""
SHM_ALLOWANCE = Allowance(noise=32.0, per_1000=0.1)
"""Each worker's region may grow once, by 8 MiB. In a short run, two such steps close to each other
have a steep slope. The noise is therefore that of four regions."""
FILES_ALLOWANCE = Allowance(noise=2.0, per_1000=0.05)
SHM, FILES = "/dev/shm", "temporary files"
MEMORY = "memory_mb "
"""The start of the names of the columns with the memory of a role."""
MIN_WINDOWS = 40
"""The fewest samples with a latency that a drift is judged from: ten in each quarter."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that must not grow.

    Attributes:
        name: The kind of quantity: one of `QUANTITIES`, `MiB` or `files`.
    """

    of: str
    name: str
    trend: Trend


@dataclass(frozen=True)
class SoakReport:
    """The results of a soak run.

    Attributes:
        drift: The change of the latency; None in a run by count, and in one that is too short.
        replaced: Processes that ended during the run, and how many began in the same moment.
    """

    machine: Machine
    callers: int
    seconds: float
    calls: Calls
    quantities: tuple[Quantity, ...]
    drift: Drift | None
    wrong: tuple[str, ...]
    replaced: tuple[str, ...]
    left: tuple[str, ...]
    ended: str

    @property
    def growing(self) -> list[Quantity]:
        return [quantity for quantity in self.quantities if quantity.trend.grows]

    @property
    def is_judged(self) -> bool:
        """True when there were enough samples to judge every quantity."""
        return all(quantity.trend.is_known for quantity in self.quantities)

    @property
    def has_failed(self) -> bool:
        is_slower = self.drift is not None and self.drift.grows
        troubles = (self.growing, self.wrong, self.replaced, self.left, self.ended)
        return any(troubles) or is_slower or not self.is_judged


def judge_samples(table: pd.DataFrame) -> tuple[Quantity, ...]:
    """Judge all quantities that must not grow by the table of a run's samples."""

    def judge_column(column: str, allowance: Allowance) -> Trend:
        return judge(table["calls"].tolist(), table[column].tolist(), allowance)

    of_roles = [
        Quantity(role, name, judge_column(f"{name} {role}", ALLOWANCES[name]))
        for role in list_roles(table)
        for name in QUANTITIES
    ]
    shm = judge_column("shm_mb", SHM_ALLOWANCE)
    files = judge_column("files", FILES_ALLOWANCE)
    return (*of_roles, Quantity(SHM, "MiB", shm), Quantity(FILES, "files", files))


def judge_latency(table: pd.DataFrame) -> Drift | None:
    """Compare late latencies with early ones; None when there are too few."""
    windows = table["p50_ms"].dropna().tolist()
    return judge_drift(windows) if len(windows) >= MIN_WINDOWS else None


def list_roles(table: pd.DataFrame) -> list[str]:
    """Return the roles of all processes in the samples, sorted from most to least memory."""
    most = table.filter(like=MEMORY).max().sort_values(ascending=False, kind="stable")
    return [str(column).removeprefix(MEMORY) for column in most.index]


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
        f"{length} by {report.callers} callers: {calls.total:,} calls in "
        f"{format_duration(seconds)}, {calls.total / seconds:.0f} calls/s; "
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
