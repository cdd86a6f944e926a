"""Whether text scores mean what they say, and what a threshold on them buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reporting.comparison import ratio


@dataclass(frozen=True)
class ScoreBin:
    """Readings whose scores lie in [low, high); the last bin holds `high`, too.

    Attributes:
        low: Lower edge.
        high: Upper edge.
        count: Readings in the bin.
        score: Their mean score, None without any.
        accuracy: The part of them that is right, None without any.
    """

    low: float
    high: float
    count: int
    score: float | None
    accuracy: float | None


def reliability(scores: Sequence[float], right: Sequence[bool], bins: int = 10) -> list[ScoreBin]:
    """Sort readings into bins of equal width by score: the reliability diagram.

    Source: Niculescu-Mizil & Caruana 2005, "Predicting good probabilities with supervised
    learning".
    """
    index = [min(int(score * bins), bins - 1) for score in scores]
    diagram = []
    for number in range(bins):
        inside = [(s, r) for i, s, r in zip(index, scores, right, strict=True) if i == number]
        diagram.append(
            ScoreBin(
                low=number / bins,
                high=(number + 1) / bins,
                count=len(inside),
                score=ratio(sum(score for score, _ in inside), len(inside)),
                accuracy=ratio(sum(is_right for _, is_right in inside), len(inside)),
            )
        )
    return diagram


def expected_calibration_error(diagram: Sequence[ScoreBin]) -> float | None:
    """Return the mean distance of score and accuracy over bins, weighted by their counts.

    Source: Guo et al. 2017, "On calibration of modern neural networks".
    """
    gaps = (
        one.count * abs(one.score - one.accuracy)
        for one in diagram
        if one.score is not None and one.accuracy is not None
    )
    return ratio(sum(gaps), sum(one.count for one in diagram))


def brier_score(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Return the mean squared distance of score and truth (0 or 1).

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability".
    """
    return ratio(sum((s - r) ** 2 for s, r in zip(scores, right, strict=True)), len(scores))


@dataclass(frozen=True)
class Coverage:
    """What a threshold does.

    Attributes:
        threshold: Texts with this score or a higher one are shown.
        coverage: Shown over found.
        error: Wrong over shown.
    """

    threshold: float
    coverage: float
    error: float


def coverage_curve(scores: Sequence[float], right: Sequence[bool]) -> list[Coverage]:
    """Return coverage and error at each distinct score as the threshold, the highest first.

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
    """Return the point of most coverage whose texts are right at least so often, None if none."""
    enough = [point for point in curve if point.error <= 1 - precision + 1e-12]
    return max(enough, key=lambda point: point.coverage, default=None)
