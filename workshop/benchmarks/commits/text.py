"""Writes a comparison as Markdown that can be pasted into a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workshop.benchmarks.commits.accuracy import Accuracy, PairedShare
from workshop.benchmarks.commits.report import KINDS, CommitReport, Estimate, Figure
from workshop.evaluation.pairing import SIGNIFICANT
from workshop.reporting.tables import Rows, format_figure, format_markdown, format_percent

SAME, NO_VERDICT = "no difference seen", "wanted two rounds for a verdict"
SPEED = ("figure", "base", "head", "head / base", "95 % interval", "verdict")
PICTURES = ("picture, calls at once", *(kind.title for kind in KINDS))
SHARES = ("plates", "base", "head", "points", "only base : head", "verdict")


def format_report(report: CommitReport) -> str:
    """Return the report: conditions, speed, accuracy, notes, and each picture folded away."""
    return "\n".join(part for part in _parts(report) if part) + "\n"


def _parts(report: CommitReport) -> Iterator[str]:
    yield f"**base** `{report.base.short}` {report.base.subject}  "
    yield f"**head** `{report.head.short}` {report.head.subject}\n"
    yield format_markdown(SPEED, _speed_rows(report.figures))
    if report.accuracy:
        yield format_markdown(
            SHARES, [row for accuracy in report.accuracy for row in _shares(accuracy)]
        )
    for note in (*_differences(report.figures), *_notes(report)):
        yield f"- {note}"
    if rows := _picture_rows(report.figures):
        yield f"\n<details><summary>head / base by picture</summary>\n\n{_table(rows)}\n</details>"


def _table(rows: Rows) -> str:
    return format_markdown(PICTURES, rows)


def _speed_rows(figures: Sequence[Figure]) -> Rows:
    return [
        (
            f"{figure.title}, {_at_once(figure.calls)}",
            format_figure(figure.base),
            format_figure(figure.head),
            f"{figure.ratio.value:.3f}",
            format_interval(figure.ratio),
            judge_ratio(figure.ratio, figure.title),
        )
        for figure in figures
        if not figure.picture
    ]


def _picture_rows(figures: Sequence[Figure]) -> Rows:
    keys = dict.fromkeys((figure.picture, figure.calls) for figure in figures if figure.picture)
    ratios = {(figure.picture, figure.calls, figure.title): figure.ratio for figure in figures}
    return [
        (
            f"{picture} x{calls}",
            *(_show(ratios.get((picture, calls, kind.title))) for kind in KINDS),
        )
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
    """Return the verdict for a figure: `slower by 3.0 to 7.0 %`, or that no difference is seen."""
    if ratio.low is None or ratio.high is None:
        return NO_VERDICT
    kind = next(kind for kind in KINDS if kind.title == title)
    if ratio.low > 1:
        return f"{kind.more} by {_range(ratio.low - 1, ratio.high - 1)}"
    if ratio.high < 1:
        return f"{kind.less} by {_range(1 - ratio.high, 1 - ratio.low)}"
    return SAME


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _shares(accuracy: Accuracy) -> Rows:
    return [
        _share_row(
            f"{accuracy.name}: read, of {accuracy.read.plates}",
            accuracy.read,
            "reads more",
            "reads fewer",
        ),
        _share_row(
            f"{accuracy.name}: another text shown",
            accuracy.wrong,
            "more wrong texts",
            "fewer wrong texts",
        ),
    ]


def _share_row(title: str, share: PairedShare, more: str, fewer: str) -> tuple[str, ...]:
    return (
        title,
        format_percent(share.base / share.plates),
        format_percent(share.head / share.plates),
        f"{100 * share.difference:+.1f}",
        f"{share.only_base} : {share.only_head}",
        judge_share(share, more, fewer),
    )


def judge_share(share: PairedShare, more: str, fewer: str) -> str:
    """Return the verdict by McNemar's exact test, in words for a higher and for a lower share."""
    if share.p_value >= SIGNIFICANT:
        return SAME
    return f"{more if share.difference > 0 else fewer}, p = {share.p_value:.2g}"


def _differences(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield each difference of a single picture; differences of two may cancel in the mean."""
    for figure in figures:
        verdict = judge_ratio(figure.ratio, figure.title)
        if figure.picture and verdict not in (SAME, NO_VERDICT):
            yield f"**{figure.picture}**: {figure.title}, {_at_once(figure.calls)}: {verdict}"


def _notes(report: CommitReport) -> Iterator[str]:
    machine = report.machine
    yield (
        f"{report.date}; {machine.cpu}, {machine.cores} cores; rounds, each with new starts: "
        f"{report.rounds}; seconds of each measurement: {report.seconds:g}"
    )
    if report.options:
        yield f"both servers: {' '.join(report.options)}"
    for accuracy in report.accuracy:
        yield f"{accuracy.name}: other texts in {accuracy.changed} of {accuracy.pictures} pictures"
    yield from report.notes
    if report.ended:
        yield f"**ended early**: {report.ended}"
