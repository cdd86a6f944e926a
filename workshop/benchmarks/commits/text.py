"""Writes a comparison as Markdown that can be pasted into a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workshop.benchmarks.commits.accuracy import Accuracy, PairedShare
from workshop.benchmarks.commits.estimates import Estimate
from workshop.benchmarks.commits.report import KINDS, CommitReport, Figure
from workshop.evaluation.pairing import SIGNIFICANT
from workshop.reporting.tables import Rows, format_figure, format_markdown, format_percent

SAME, NO_VERDICT = "no difference seen", "wanted two rounds for a verdict"
SPEED = ("figure", "base", "head", "head / base", "95 % interval", "verdict")
PICTURES = ("picture, calls at once", *(kind.title for kind in KINDS))
SHARES = ("plates", "base", "head", "points", "95 % interval", "only base : head", "verdict")


def format_report(report: CommitReport) -> str:
    """Return the report: conditions, speed, accuracy, notes, and each picture folded away."""
    return "\n".join(part for part in _parts(report) if part) + "\n"


def _parts(report: CommitReport) -> Iterator[str]:
    yield f"**base** `{report.base.short}` {report.base.subject}  "
    yield f"**head** `{report.head.short}` {report.head.subject}\n"
    yield format_markdown(SPEED, _speed_rows(report.figures))
    if report.accuracy:
        yield format_markdown(SHARES, [row for one in report.accuracy for row in _shares(one)])
    for note in (*_differences(report.figures), *_notes(report)):
        yield f"- {note}"
    if rows := _picture_rows(report.figures):
        yield f"\n<details><summary>head / base by picture</summary>\n\n{_table(rows)}\n</details>"


def _table(rows: Rows) -> str:
    return format_markdown(PICTURES, rows)


def _speed_rows(figures: Sequence[Figure]) -> Rows:
    return [
        (
            f"{one.title}, {_at_once(one.calls)}",
            format_figure(one.base),
            format_figure(one.head),
            f"{one.ratio.value:.3f}",
            format_interval(one.ratio),
            judge_ratio(one.ratio, one.title),
        )
        for one in figures
        if not one.picture
    ]


def _picture_rows(figures: Sequence[Figure]) -> Rows:
    keys = dict.fromkeys((one.picture, one.calls) for one in figures if one.picture)
    found = {(one.picture, one.calls, one.title): one.ratio for one in figures}
    return [
        (f"{picture} x{calls}", *(_show(found.get((picture, calls, k.title))) for k in KINDS))
        for picture, calls in keys
    ]


def _show(ratio: Estimate | None) -> str | None:
    return None if ratio is None else f"{ratio.value:.3f} ({format_interval(ratio)})"


def _at_once(calls: int) -> str:
    return f"{calls} call{'s' if calls > 1 else ''} at once"


def format_interval(ratio: Estimate) -> str:
    """Return `0.982 to 1.014`; a dash without an interval."""
    return (
        "-" if ratio.low is None or ratio.high is None else f"{ratio.low:.3f} to {ratio.high:.3f}"
    )


def judge_ratio(ratio: Estimate, title: str) -> str:
    """Return the verdict for a figure: `slower by 3.0 to 7.0 %`, or that no difference is seen.

    Args:
        ratio: head / base of the figure.
        title: The title of its kind.
    """
    if ratio.low is None or ratio.high is None:
        return NO_VERDICT
    kind = next(one for one in KINDS if one.title == title)
    if ratio.low > 1:
        return f"{kind.more} by {_range(ratio.low - 1, ratio.high - 1)}"
    if ratio.high < 1:
        return f"{kind.less} by {_range(1 - ratio.high, 1 - ratio.low)}"
    return SAME


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _shares(one: Accuracy) -> Rows:
    return [
        _share_row(
            f"{one.name}: read, of {one.read.plates}", one.read, "reads more", "reads fewer"
        ),
        _share_row(
            f"{one.name}: another text shown", one.wrong, "more wrong texts", "fewer wrong texts"
        ),
    ]


def _share_row(title: str, share: PairedShare, more: str, fewer: str) -> tuple[str, ...]:
    low, high = share.interval
    return (
        title,
        format_percent(share.base / share.plates),
        format_percent(share.head / share.plates),
        f"{100 * share.difference:+.1f}",
        f"{100 * low:+.1f} to {100 * high:+.1f}",
        f"{share.only_base} : {share.only_head}",
        judge_share(share, more, fewer),
    )


def judge_share(share: PairedShare, more: str, fewer: str) -> str:
    """Return the verdict for a share of plates by McNemar's exact test.

    Args:
        share: The share at both commits.
        more: The words for a head with a higher share.
        fewer: The words for a head with a lower share.
    """
    if share.p_value >= SIGNIFICANT:
        return SAME
    return f"{more if share.difference > 0 else fewer}, p = {share.p_value:.2g}"


def _differences(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield each difference of a single picture; differences of two may cancel in the mean."""
    for one in figures:
        verdict = judge_ratio(one.ratio, one.title)
        if one.picture and verdict not in (SAME, NO_VERDICT):
            yield f"**{one.picture}**: {one.title}, {_at_once(one.calls)}: {verdict}"


def _notes(report: CommitReport) -> Iterator[str]:
    machine = report.machine
    yield (
        f"{report.date}; {machine.cpu}, {machine.cores} cores; rounds, each with new starts: "
        f"{report.rounds}; seconds of each measurement: {report.seconds:g}"
    )
    if report.options:
        yield f"both servers: {' '.join(report.options)}"
    for one in report.accuracy:
        yield f"{one.name}: other texts in {one.changed} of {one.pictures} pictures"
    yield from report.notes
    if report.ended:
        yield f"**ended early**: {report.ended}"
