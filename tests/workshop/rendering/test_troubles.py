"""Each trouble makes a plate hard to read in its own way."""

import numpy as np
import pytest

from workshop.rendering.country import russia
from workshop.rendering.samples.troubles import DARK, SMALL, SMEARED, TROUBLES, add_trouble

PICTURE = np.full((280, 640, 3), 120, np.uint8)
PICTURE[84:196, 60:580] = np.asarray(russia().plate_of("A123BC77").picture[:112, :520])
QUAD = np.array([[60.0, 84], [580, 84], [580, 196], [60, 196]])


def change(trouble: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return add_trouble(np.random.default_rng(seed), PICTURE, QUAD, trouble)


@pytest.mark.parametrize("seed", range(4))
def test_a_photo_has_the_trouble_that_is_asked_for(seed: int) -> None:
    width = {name: float(np.ptp(change(name, seed)[1][:, 0])) for name in TROUBLES}
    assert 26 < width[SMALL] < 57 < 60 <= width[SMEARED] < 162
    dark, smeared = change(DARK, seed)[0], change(SMEARED, seed)[0]
    assert dark.mean() < 0.5 * PICTURE.mean() < 0.9 * smeared.mean()
    across, down = (np.abs(np.diff(smeared.astype(int), axis=axis)).mean() for axis in (1, 0))
    assert across < 1.5 * down


def test_a_plate_that_is_small_already_is_not_enlarged() -> None:
    small = PICTURE[::16, ::16].copy()
    picture, quad = add_trouble(np.random.default_rng(0), small, QUAD / 16, SMALL)
    assert picture.shape == small.shape
    assert np.array_equal(quad, QUAD / 16)
    assert PICTURE[150, 70:570].std() > 40  # arguments are not changed
