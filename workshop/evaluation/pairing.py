"""Compares two evaluations of the same plates, and tests whether the difference may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from workshop.evaluation.datasets import BAD
from workshop.evaluation.outcomes import READ
from workshop.evaluation.results import PlateVerdict
from workshop.evaluation.yolo_labels import Box

SIGNIFICANT = 0.05
"""The significance level: a difference with this p-value or a higher one may be chance."""


@dataclass(frozen=True)
class Change:
    """A labelled plate that one evaluation reads and the other does not.

    Attributes:
        new: The verdict of the new evaluation.
        old: The verdict of the old evaluation.
    """

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
        plates: The number of plates that both measured.
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
    changed = [
        change for change in shared if (change.new.verdict == READ) != (change.old.verdict == READ)
    ]
    won = tuple(change for change in changed if change.is_won)
    lost = tuple(change for change in changed if not change.is_won)
    return PairedTest(kind, len(shared), won, lost, mcnemar_exact(len(won), len(lost)))
