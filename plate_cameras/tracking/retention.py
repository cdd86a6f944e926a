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
"""Added to both, so that a blurred or unread plate still has a worth."""
MAX_FRAMES = 3
"""Largest number of texts whose best frame is kept: the text of a pass may still change."""


def thin_out(
    observations: Sequence[Observation], best: Observation, most: int = MAX_OBSERVATIONS
) -> list[Observation]:
    """Return at most `most` observations, spread over the time, with the first, last and best.

    The observation goes that leaves the smallest gap, poor ones first.

    Args:
        observations: The plate in some frames, in the order of time.
        best: One of the passes, which stays.
        most: Number of observations, at least 3.
    """
    kept = [*observations]
    while len(kept) > most:
        inner = [index for index in range(1, len(kept) - 1) if kept[index] is not best]
        del kept[min(inner, key=lambda index: _loss(kept, index))]
    return kept


def worth_of(observation: Observation) -> float:
    """Return how well an observation shows its plate: sharp, large, and read with certainty."""
    x0, _, x1, _ = observation.plate.xyxy
    shown = (MIN_SHARPNESS + observation.sharpness) * sqrt(x1 - x0)
    return shown * (MIN_SCORE + best_text(observation.plate)[1])


def _loss(observations: Sequence[Observation], index: int) -> float:
    """Return what is lost with an observation: the gap that it leaves, times its worth."""
    gap = observations[index + 1].time_s - observations[index - 1].time_s
    return gap * worth_of(observations[index])


@dataclass
class _Kept:
    look: Look
    crop_jpeg: bytes = b""


@dataclass
class BestFrames:
    """Keeps the frame that shows each of the likeliest texts best."""

    _by_text: dict[str, _Kept] = field(default_factory=dict)

    def add(self, look: Look, likely: Collection[str]) -> None:
        """Keep a look's frame if it shows its own text better than those before.

        Args:
            look: The plate and its frame.
            likely: The likeliest texts of the pass, best first. Frames of other texts go first.
        """
        kept = self._by_text.get(look.text)
        if kept is None or worth_of(look.observation) > worth_of(kept.look.observation):
            self._by_text[look.text] = _Kept(look)
        ranks = {text: rank for rank, text in enumerate(likely)}
        while len(self._by_text) > MAX_FRAMES:
            worst = max(self._by_text, key=lambda text: (ranks.get(text, len(ranks)), text))
            del self._by_text[worst]

    def absorb(self, other: BestFrames, likely: Collection[str]) -> None:
        """Add the frames of another pass that was the same vehicle."""
        for kept in other._by_text.values():
            self.add(kept.look, likely)

    def observation(self, text: str) -> Observation:
        """Return the observation of the best frame of a text, see `best`."""
        return self._find(text).look.observation

    def best(self, text: str, pixels: PlatePixels) -> BestFrame:
        """Return the best frame whose own reading is a text; if there is none, the best of all."""
        kept = self._find(text)
        look = kept.look
        if not kept.crop_jpeg:
            kept.crop_jpeg = pixels.crop(look.frame, look.observation.plate.xyxy, look.others)
        return BestFrame(
            look.observation, look.frame.size_wh, kept.crop_jpeg, look.frame.jpeg, look.others
        )

    def _find(self, text: str) -> _Kept:
        by_worth = sorted(self._by_text.values(), key=lambda kept: -worth_of(kept.look.observation))
        return self._by_text.get(text) or by_worth[0]
