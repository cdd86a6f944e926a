"""Compares evaluations of the same plates: a test, text, a CSV file and sheets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path

from workshop.evaluation.datasets import BAD, Box
from workshop.evaluation.outcomes import READ, Outcome
from workshop.evaluation.reading import align
from workshop.evaluation.report_files.drawings import Tile, draw
from workshop.evaluation.report_files.reading_files import tile_of
from workshop.evaluation.results import PlateVerdict, Report
from workshop.reporting.files import write_rows
from workshop.reporting.sheets import write_sheets
from workshop.reporting.tables import format_markdown

SIGNIFICANT = 0.05
"""The significance level: a difference with this p-value or a higher one may be chance."""


@dataclass(frozen=True)
class Change:
    """A labelled plate that one evaluation reads and the other does not."""

    new: PlateVerdict
    old: PlateVerdict

    @property
    def is_won(self) -> bool:
        """True when the new evaluation reads the plate."""
        return self.new.verdict == READ


@dataclass(frozen=True)
class PairedTest:
    """The difference of two evaluations on the plates of one type that both measured.

    Attributes:
        type: The type: `std` or `other`.
        won: The plates that only the new evaluation reads.
        lost: The plates that only the old evaluation reads.
        p_value: The probability of a difference at least as large if neither reads better.
    """

    type: str
    plates: int
    won: tuple[Change, ...]
    lost: tuple[Change, ...]
    p_value: float


@dataclass(frozen=True)
class Pairing:
    """A comparison of two evaluations plate by plate, without plates of type `bad`.

    Attributes:
        tests: One for each type of plates that both measured.
        only_new: Plates that the old evaluation did not measure.
        only_old: Plates that the new evaluation did not measure.
    """

    tests: tuple[PairedTest, ...]
    only_new: int
    only_old: int


def mcnemar_exact(won: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    If neither reads better, each plate that only one of them reads is like a throw of a fair coin.
    The p-value is the probability of a result at least as one-sided as this one. It is 1 without
    such plates.

    Args:
        won: The number of plates that only the first evaluation reads.
        lost: The number of plates that only the other evaluation reads.

    Source: McNemar 1947, "Note on the sampling error of the difference between correlated
    proportions or percentages"; exact by the binomial distribution, as in Fay 2010.
    """
    throws = won + lost
    tail = sum(comb(throws, count) for count in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << throws))


def interpret(p_value: float) -> str:
    """Return the meaning of a p-value in plain words."""
    return "hardly chance" if p_value < SIGNIFICANT else "may be chance"


def pair(new: Sequence[PlateVerdict], old: Sequence[PlateVerdict]) -> Pairing:
    """Compare the verdicts of the same labelled plates: same picture, region and text."""
    of_new, of_old = _by_label(new), _by_label(old)
    shared = [Change(of_new[label], of_old[label]) for label in of_new if label in of_old]
    types = dict.fromkeys(change.new.type for change in shared)
    return Pairing(
        tests=tuple(
            _test(kind, [change for change in shared if change.new.type == kind]) for kind in types
        ),
        only_new=len(of_new) - len(shared),
        only_old=len(of_old) - len(shared),
    )


def _by_label(verdicts: Sequence[PlateVerdict]) -> dict[tuple[str, Box, str], PlateVerdict]:
    return {
        (verdict.image, verdict.region, verdict.wanted): verdict
        for verdict in verdicts
        if verdict.type != BAD
    }


def _test(kind: str, shared: Sequence[Change]) -> PairedTest:
    changes = [
        change for change in shared if (change.new.verdict == READ) != (change.old.verdict == READ)
    ]
    won = tuple(change for change in changes if change.is_won)
    lost = tuple(change for change in changes if not change.is_won)
    return PairedTest(kind, len(shared), won, lost, mcnemar_exact(len(won), len(lost)))


MIN_P = 0.001
"""Smaller p-values are written as `< 0.001`."""


COLUMNS = (
    "against", "change", "image", "type", "wanted", "verdict", "text", "other_verdict",
    "other_text",
)  # fmt: skip
"""The columns of `changed.csv`, whose rows are plates that only one of two evaluations reads."""


def pair_reports(report: Report, other: Report) -> Pairing | None:
    """Compare two reports plate by plate; None when one of them has no readings."""
    if report.reading is None or other.reading is None:
        return None
    return pair(report.reading.verdicts, other.reading.verdicts)


def write_paired_test(report: Report, other: Report) -> str:
    """Return the paired test of a report against another one, in Markdown."""
    pairing = pair_reports(report, other)
    title = f"{report.name} against {other.name}"
    if pairing is None:
        return f"{title}: no paired test, for one of the two holds no readings.\n"
    sentences = [_name_other_data(pairing, report.name, other.name)]
    sentences += [f"{describe_test(test)}." for test in pairing.tests]
    rows = [_row(change) for test in pairing.tests for change in (*test.won, *test.lost)]
    header = ("", "picture", "wanted", report.name, other.name)
    table = f"\n{format_markdown(header, rows)}" if rows else ""
    return f"{title}: {' '.join(filter(None, sentences))}\n{table}"


def describe_test(test: PairedTest) -> str:
    """Describe a paired test in plain words: `214 std plates, won 5, lost 0: p = 0.062, ...`."""
    counts = f"{test.plates} {test.type} plates, won {len(test.won)}, lost {len(test.lost)}"
    if not test.won and not test.lost:
        return f"{counts}: the same plates are read"
    size = f"= {test.p_value:.2g}" if test.p_value >= MIN_P else f"< {MIN_P:g}"
    return f"{counts}: p {size}, {interpret(test.p_value)}"


def _name_other_data(pairing: Pairing, name: str, other: str) -> str:
    if not pairing.tests:
        return "the two were measured on other data, and no plate is in both."
    if not (pairing.only_new or pairing.only_old):
        return ""
    return (
        f"the two were measured on other data, left out are {pairing.only_new} plates of "
        f"{name} alone and {pairing.only_old} of {other} alone."
    )


def _row(change: Change) -> tuple[str, ...]:
    new, old = change.new, change.old
    return (_direction(change), new.image, new.wanted, _reading(new), _reading(old))


def _direction(change: Change) -> str:
    return "won" if change.is_won else "lost"


def _reading(verdict: PlateVerdict) -> str:
    """Return a plate's text and verdict: `A123BC77 (read)`, `A123BC77 (not shown)`, `(missed)`."""
    return f"{verdict.text} ({verdict.verdict})".strip()


def write_changes(
    report: Report, others: Sequence[Report], outcomes: Sequence[Outcome], folder: Path
) -> None:
    """Write `changed.csv` and `changed_1.png`, ...: the plates won and lost against each report.

    Args:
        report: The new report.
        others: The reports to compare with.
        outcomes: The outcomes that the new report was measured on.
        folder: The output folder.
    """
    changes = [
        (change, other.name)
        for other in others
        if (pairing := pair_reports(report, other))
        for test in pairing.tests
        for change in (*test.won, *test.lost)
    ]
    outcomes_by_label = {(outcome.path.name, outcome.label.region): outcome for outcome in outcomes}
    tiles = (
        _tile(outcomes_by_label[change.new.image, change.new.region], change, name)
        for change, name in changes
    )
    write_rows(COLUMNS, [_csv_row(*change) for change in changes], folder / "changed.csv")
    write_sheets(map(draw, tiles), folder, "changed")


def _csv_row(change: Change, against: str) -> dict[str, object]:
    new, old = change.new, change.old
    sides = {"verdict": new.verdict, "text": new.text}
    sides |= {"other_verdict": old.verdict, "other_text": old.text}
    place = {"image": new.image, "type": new.type, "wanted": new.wanted}
    return {"against": against, "change": _direction(change), **place, **sides}


def _tile(outcome: Outcome, change: Change, against: str) -> Tile:
    """Return the tile of a plate: the wanted text, and the text of the evaluation that fails."""
    failure, how = (change.old, "won from") if change.is_won else (change.new, "lost to")
    where = "there" if change.is_won else "here"
    return replace(
        tile_of(outcome),
        caption=f"{change.new.image}: {how} {against}, {failure.verdict} {where}",
        characters=tuple(align(failure.wanted, failure.text)),
    )
