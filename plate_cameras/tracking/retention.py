"""The kept part of an open pass: some of its observations, and its best frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import sqrt

from plate_cameras.passes import BestFrame, Observation
from plate_cameras.tracking.looks import Look, best_text
from plate_cameras.tracking.plate_pixels import PlatePixels

MAX_OBSERVATIONS = 48
"""Largest number of observations that are kept of a pass."""
MIN_SHARPNESS, MIN_SCORE = 0.05, 0.1
"""Added to sharpness and score, so that a blurred or unread plate still has a worth."""
MAX_FRAMES = 3
"""Largest number of texts whose best frame is kept: the text of a pass may still change."""


def thin_out(
    observations: Sequence[Observation], best: Observation, max_count: int = MAX_OBSERVATIONS
) -> list[Observation]:
    """Return some observations, spread over the time, with the first, the last and the best.

    An observation that leaves a small gap is left out first, and a poor one before a good one.

    Args:
        observations: The plate in some frames, in the order of time.
        best: The one of them that always stays.
        max_count: Largest number of observations, at least 3.
    """
    rest = [*observations]
    while len(rest) > max_count:
        indexes = [index for index in range(1, len(rest) - 1) if rest[index] is not best]
        del rest[min(indexes, key=lambda index: _loss(rest, index))]
    return rest


def worth_of(observation: Observation) -> float:
    """Return how well an observation shows its plate: sharp, large, and read with certainty."""
    x0, _, x1, _ = observation.plate.xyxy
    visibility = (MIN_SHARPNESS + observation.sharpness) * sqrt(x1 - x0)
    return visibility * (MIN_SCORE + best_text(observation.plate)[1])


def _loss(observations: Sequence[Observation], index: int) -> float:
    """Return what is lost with an observation: the gap that it leaves, times its worth."""
    gap = observations[index + 1].time_s - observations[index - 1].time_s
    return gap * worth_of(observations[index])


@dataclass
class _KeptLook:
    look: Look
    crop_jpeg: bytes = b""


@dataclass
class BestFrames:
    """Keeps the frame that shows each of the likeliest texts best."""

    _by_text: dict[str, _KeptLook] = field(default_factory=dict)

    def add(self, look: Look, likely_texts: Collection[str]) -> None:
        """Keep a look's frame if it shows its own text better than those before.

        Args:
            look: The plate and its frame.
            likely_texts: The likeliest texts of the pass, best first. Frames of other texts are
                dropped first.
        """
        kept_look = self._by_text.get(look.text)
        if kept_look is None or worth_of(look.observation) > worth_of(kept_look.look.observation):
            self._by_text[look.text] = _KeptLook(look)
        ranks = {text: rank for rank, text in enumerate(likely_texts)}
        while len(self._by_text) > MAX_FRAMES:
            worst = max(self._by_text, key=lambda text: (ranks.get(text, len(ranks)), text))
            del self._by_text[worst]

    def absorb(self, other: BestFrames, likely_texts: Collection[str]) -> None:
        """Add the frames of another pass that was the same vehicle."""
        for kept_look in other._by_text.values():
            self.add(kept_look.look, likely_texts)

    def observation(self, text: str) -> Observation:
        """Return the observation of the best frame of a text, see `best`."""
        return self._find(text).look.observation

    def best(self, text: str, pixels: PlatePixels) -> BestFrame:
        """Return the best frame whose own reading is a text; if there is none, the best of all."""
        kept_look = self._find(text)
        look = kept_look.look
        if not kept_look.crop_jpeg:
            kept_look.crop_jpeg = pixels.crop(look.frame, look.observation.plate.xyxy, look.others)
        return BestFrame(
            look.observation, look.frame.size_wh, kept_look.crop_jpeg, look.frame.jpeg, look.others
        )

    def _find(self, text: str) -> _KeptLook:
        kept_look = self._by_text.get(text)
        return kept_look or max(
            self._by_text.values(), key=lambda each: worth_of(each.look.observation)
        )
