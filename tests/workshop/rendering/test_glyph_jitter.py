"""Characters of other shapes: as high as before, one weight for a plate."""

import numpy as np
import pytest

from workshop.rendering.country import russia
from workshop.rendering.glyph_jitter import WEIGHTS, jitter_glyphs
from workshop.rendering.glyphs import Mask, glyph_mask

DRAWN_WEIGHTS = (0.7, 1.15)
"""Weights of the plates that readers are trained on."""


@pytest.mark.parametrize("height_px", [24, 87])
def test_a_character_stays_as_high_and_keeps_its_ink(height_px: int) -> None:
    source = jitter_glyphs(np.random.default_rng(1))
    for char in "0B8X":
        mask, plain = source(char, height_px, 0.9), glyph_mask(char, height_px)
        assert mask.shape[0] == height_px
        assert mask.dtype == np.uint8
        assert 0.5 < mask.sum(dtype=float) / plain.sum(dtype=float) < 1.7


def test_two_of_the_same_character_differ() -> None:
    source = jitter_glyphs(np.random.default_rng(2))
    one, other = source("B", 80, 0.9), source("B", 80, 0.9)
    assert one.shape != other.shape or (one != other).any()


def test_a_plate_has_one_weight_and_some_are_beyond_those_of_the_training() -> None:
    asked: list[set[float]] = []

    def listen(char: str, height_px: int, weight: float) -> Mask:
        asked[-1].add(weight)
        return glyph_mask(char, height_px, weight)

    for seed in range(30):
        asked.append(set())
        source = jitter_glyphs(np.random.default_rng(seed), listen)
        russia().plate_of("A123BC77", glyphs=source)
    weights = [weight for (weight,) in asked]
    assert WEIGHTS[0] <= min(weights) < DRAWN_WEIGHTS[0]
    assert DRAWN_WEIGHTS[1] < max(weights) <= WEIGHTS[1]
