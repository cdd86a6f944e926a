"""Measures readings: their distance from the true texts, and what their scores say."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orchestrator.formats.edit_distance import edit_costs, edit_distance
from workshop.reporting.tables import ratio

SURE = 0.9
"""Score from which a text counts as sure. About 90 % of the texts with this score are right."""
Scored = tuple[float, bool]
"""The score of a reading, and true when the reading is right."""


@dataclass(frozen=True)
class ScoreBin:
    """A bin of readings with similar scores.

    Attributes:
        low: The lower edge of a bin of equal width, or the lowest score in a bin of equal mass.
        high: The upper edge of a bin of equal width, or the highest score in a bin of equal mass.
            Only the last bin of equal width includes its upper edge.
        score: The mean score of the readings; None without any.
        accuracy: The part of the readings that is right; None without any.
    """

    low: float
    high: float
    count: int
    score: float | None
    accuracy: float | None


def reliability(scores: Sequence[float], right: Sequence[bool], bins: int = 10) -> list[ScoreBin]:
    """Sort readings by score into bins of equal width, for the reliability diagram.

    Source: Niculescu-Mizil & Caruana 2005, "Predicting good probabilities with supervised
    learning".
    """
    inside: list[list[Scored]] = [[] for _ in range(bins)]
    for score, is_right in zip(scores, right, strict=True):
        inside[min(int(score * bins), bins - 1)].append((score, is_right))
    return [
        bin_of_scores(readings, number / bins, (number + 1) / bins)
        for number, readings in enumerate(inside)
    ]


def equal_mass_reliability(
    scores: Sequence[float], right: Sequence[bool], bins: int = 10
) -> list[ScoreBin]:
    """Sort readings by score into bins of equal counts, whose accuracies are equally reliable.

    Readings with the same score share a bin. So with many ties there are fewer bins, of different
    sizes. The lowest and the highest score of a bin are `low` and `high`.

    Source: Nguyen & O'Connor 2015, "Posterior calibration and exploratory analysis for natural
    language processing models"; Nixon et al. 2019, "Measuring calibration in deep learning" (the
    adaptive calibration error, here of the one class "read correctly").
    """
    ranked = sorted(zip(scores, right, strict=True), key=lambda reading: reading[0])
    values = [score for score, _ in ranked]
    shares = (round(number * len(ranked) / bins) for number in range(1, bins + 1))
    ends = sorted({bisect_right(values, values[share - 1]) for share in shares if share})
    groups = [ranked[start:end] for start, end in pairwise([0, *ends])]
    return [bin_of_scores(group, group[0][0], group[-1][0]) for group in groups]


def bin_of_scores(readings: Sequence[Scored], low: float, high: float) -> ScoreBin:
    """Return the bin of some readings."""
    return ScoreBin(
        low=low,
        high=high,
        count=len(readings),
        score=ratio(sum(score for score, _ in readings), len(readings)),
        accuracy=ratio(sum(is_right for _, is_right in readings), len(readings)),
    )


def expected_calibration_error(diagram: Sequence[ScoreBin]) -> float | None:
    """Return the mean distance between score and accuracy over bins, weighted by counts.

    Source: Guo et al. 2017, "On calibration of modern neural networks".
    """
    gaps = (
        score_bin.count * abs(score_bin.score - score_bin.accuracy)
        for score_bin in diagram
        if score_bin.score is not None and score_bin.accuracy is not None
    )
    return ratio(sum(gaps), sum(score_bin.count for score_bin in diagram))


def brier_score(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Return the mean squared distance between score and truth (0 or 1).

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability".
    """
    return ratio(
        sum((score - is_right) ** 2 for score, is_right in zip(scores, right, strict=True)),
        len(scores),
    )


@dataclass(frozen=True)
class Coverage:
    """The coverage and the error at one threshold.

    Attributes:
        threshold: The threshold: texts with this score or a higher one are shown.
        coverage: Shown plates / found plates.
        error: Wrong plates / shown plates.
    """

    threshold: float
    coverage: float
    error: float


def coverage_curve(scores: Sequence[float], right: Sequence[bool]) -> list[Coverage]:
    """Return coverage and error with each distinct score as the threshold, highest first.

    Source: El-Yaniv & Wiener 2010, "On the foundations of noise-free selective classification"
    (the risk-coverage curve).
    """
    score, is_right = np.asarray(scores, float), np.asarray(right, bool)
    return [
        Coverage(
            threshold=float(threshold),
            coverage=float((score >= threshold).mean()),
            error=float((~is_right[score >= threshold]).mean()),
        )
        for threshold in np.unique(score)[::-1]
    ]


def coverage_at(curve: Sequence[Coverage], precision: float) -> Coverage | None:
    """Return the point of highest coverage with at least this precision; None without one."""
    enough = [point for point in curve if point.error <= 1 - precision + 1e-12]
    return max(enough, key=lambda point: point.coverage, default=None)


Pair = tuple[str, str]
"""A wanted text and a read text, or one character of each."""


@dataclass(frozen=True)
class Confusion:
    """A character that was read as another one, with a count; `""` when one of them is missing."""

    wanted: str
    read: str
    count: int


def align(label: str, reading: str) -> list[Pair]:
    """Pair the characters of two texts with the fewest edits.

    Returns:
        Character pairs in order; `""` is on one side if a character was left out or added. If
        several alignments are equally good, the one with replacements is chosen.
    """
    costs = edit_costs(label, reading)
    pairs: list[Pair] = []
    i, j = len(label), len(reading)
    while i or j:
        if i and j and costs[i][j] == costs[i - 1][j - 1] + (label[i - 1] != reading[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((label[i], reading[j]))
        elif i and costs[i][j] == costs[i - 1][j] + 1:
            i -= 1
            pairs.append((label[i], ""))
        else:
            j -= 1
            pairs.append(("", reading[j]))
    return pairs[::-1]


def character_error_rate(pairs: Iterable[Pair]) -> float | None:
    """Return edits over wanted characters. It may be above 1, and is None without characters."""
    texts = list(pairs)
    edits = sum(edit_distance(label, reading) for label, reading in texts)
    return ratio(edits, sum(len(label) for label, _ in texts))


def count_confusions(pairs: Iterable[Pair]) -> list[Confusion]:
    """Count the differing characters of aligned texts, most frequent first."""
    differing = Counter(
        (label, reading) for texts in pairs for label, reading in align(*texts) if label != reading
    )
    ranked = sorted(differing.items(), key=lambda item: (-item[1], item[0]))
    return [Confusion(label, reading, count) for (label, reading), count in ranked]
