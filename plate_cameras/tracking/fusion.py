"""Fuses the readings of one plate in many frames to one text with a calibrated probability.

The readings are pooled log-linearly: each frame's probabilities are raised to the power of its
weight, and multiplied. A frame's weight falls with blur and with a small plate. It also falls if
the plate looks as it did in the frame before: such a frame repeats the same errors.

Source: C. Genest and J. Zidek, "Combining Probability Distributions", 1986 (logarithmic pools).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from orchestrator.plates import CANDIDATES, Plate
from plate_cameras.passes import Observation
from plate_cameras.tracking.looks import quality_of

MAX_SCORE = 0.97
"""Largest score that one frame may give a text; blurred frames may have a wrong text with 1.00."""
MIN_CAP = 0.6
"""Largest score of a text from a frame without quality."""
OTHER_TEXTS = 20.0
"""Number of texts among which the rest of a frame's probability is spread."""
NEW_AFTER_S, NEW_AFTER_WIDTHS, NEW_AFTER_GROWTH = 2.0, 1.0, 0.2
"""Time, way and growth after which most of a look is new."""
MAX_CORRELATION = 0.8
"""Likeness of two looks at a vehicle that stands: noise and codec differ from frame to frame."""
MAX_EVIDENCE = 6.0
"""Greatest sum of the weights: more looks add nothing."""
MIN_TRUST = 0.1
"""Weight of a reading with the score 0, in that of one with the score 1."""
TEMPERATURE = 1.0
"""Divides the pooled logarithms so that scores are probabilities. Fitted on rendered clips."""


@dataclass(frozen=True)
class FusedText:
    """The text of a pass.

    Attributes:
        candidates: Best texts with their probabilities, best first; their sum is at most 1.
        weights: Share of each reading in it; they sum to 1, or are all 0.
    """

    candidates: tuple[tuple[str, float], ...] = ()
    weights: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        """The best text, `""` for none."""
        return self.candidates[0][0] if self.candidates else ""

    @property
    def score(self) -> float:
        """The probability of the best text."""
        return self.candidates[0][1] if self.candidates else 0.0


def fuse(observations: Sequence[Observation]) -> FusedText:
    """Fuse the readings of one plate.

    Args:
        observations: The plate in some frames, in the order of time.
    """
    weights = weigh(observations)
    readings = [*zip(map(_cap_scores, observations), weights, strict=True)]
    texts = {text for reading, _ in readings for text in reading.scores}
    if not texts:
        return FusedText((), (0.0,) * len(weights))
    logs = {
        text: sum(weight * log(reading.score(text)) for reading, weight in readings)
        for text in texts
    }
    other_log = log(OTHER_TEXTS) + sum(weight * log(reading.floor) for reading, weight in readings)
    probabilities = _softmax([*logs.values(), other_log])
    pairs = zip(logs, probabilities, strict=False)
    candidates = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    total = sum(weights)
    shares = tuple(weight / total for weight in weights) if total else weights
    return FusedText(tuple(candidates[:CANDIDATES]), tuple(shares))


@dataclass(frozen=True)
class _Reading:
    """The reading of one frame: probabilities of some texts, and that of each other text."""

    scores: dict[str, float]
    floor: float

    def score(self, text: str) -> float:
        return max(self.scores.get(text, 0.0), self.floor)


def _cap_scores(observation: Observation) -> _Reading:
    """Return the capped probabilities of a frame's texts."""
    quality = quality_of(observation)
    cap = MIN_CAP + (MAX_SCORE - MIN_CAP) * min(1.0, 2 * quality)
    scores = {text: cap * score for text, score in _candidates(observation.plate) if score > 0}
    return _Reading(scores, max(1e-4, 1 - sum(scores.values())) / OTHER_TEXTS)


def _candidates(plate: Plate) -> tuple[tuple[str, float], ...]:
    """Return a plate's readings; an answer without candidates still has a text."""
    return plate.candidates or (((plate.text, plate.text_score),) if plate.text else ())


def weigh(observations: Sequence[Observation]) -> tuple[float, ...]:
    """Return the weight of each reading: 1 for the best alone, and at most `MAX_EVIDENCE` in all.

    Looks that are alike share their weight. Frames without a reading have the weight 0.
    """
    quality = np.array([_trust(observation) for observation in observations])
    if not quality.any():
        return (0.0,) * len(observations)
    quality /= quality.max()
    weights = quality / np.maximum(1.0, _likeness(observations) @ quality)
    weights *= min(1.0, MAX_EVIDENCE / weights.sum())
    return tuple(weights.tolist())


def _trust(observation: Observation) -> float:
    """Return the weight of a look alone: its quality, less if its best reading is improbable."""
    best_score = max((score for _, score in _candidates(observation.plate)), default=-1.0)
    if best_score < 0:
        return 0.0
    return quality_of(observation) * (MIN_TRUST + (1 - MIN_TRUST) * best_score)


def _likeness(observations: Sequence[Observation]) -> NDArray[np.float64]:
    """Return how much of each look every other look has shown, [N, N] in [0, 1], 1 for itself."""
    boxes = np.array([observation.plate.xyxy for observation in observations])
    width = np.maximum(1.0, boxes[:, 2] - boxes[:, 0])
    scale = float(np.median(width))
    steps = [
        (np.array([observation.time_s for observation in observations]), NEW_AFTER_S),
        ((boxes[:, 0] + boxes[:, 2]) / 2, NEW_AFTER_WIDTHS * scale),
        ((boxes[:, 1] + boxes[:, 3]) / 2, NEW_AFTER_WIDTHS * scale),
        (np.log(width), NEW_AFTER_GROWTH),
    ]
    apart = sum(np.abs(value[:, None] - value) / unit for value, unit in steps)
    like: NDArray[np.float64] = MAX_CORRELATION * np.exp(-apart)
    np.fill_diagonal(like, 1.0)
    return like


def _softmax(logs: Sequence[float]) -> list[float]:
    """Return probabilities from pooled logarithms."""
    highest = max(logs)
    powers = [exp((text_log - highest) / TEMPERATURE) for text_log in logs]
    total = sum(powers)
    return [power / total for power in powers]
