"""Photos of plates one end of which is hidden."""

import cv2
import numpy as np
import pytest

from workshop.rendering.samples.photos import HIDDEN_LEFT, HIDDEN_RIGHT, Photo, hide_end

QUAD = np.array([[100.0, 100], [300, 120], [300, 160], [100, 140]])


@pytest.fixture
def photo() -> Photo:
    """A white plate, aslant, before grass."""
    picture = np.full((260, 400, 3), (40, 160, 70), np.uint8)
    cv2.fillConvexPoly(picture, QUAD.astype(np.int32), (250, 250, 250))
    return Photo(picture, QUAD, "A001AA77", "ru_car")


@pytest.mark.parametrize("seed", range(20))
def test_an_end_of_the_plate_is_hidden_as_far_as_its_text(photo: Photo, seed: int) -> None:
    before = photo.picture.copy()
    hidden = hide_end(np.random.default_rng(seed), photo)
    assert (photo.picture == before).all()
    middle = [hidden[round(120 + (x - 100) / 10), x] for x in range(100, 300)]
    changed = np.flatnonzero((np.array(middle) != 250).any(axis=1)) / 200
    is_left = changed.mean() < 0.5
    if is_left:
        assert HIDDEN_LEFT[0] - 0.01 <= changed.max() <= HIDDEN_LEFT[1] + 0.01
    else:
        assert HIDDEN_RIGHT[0] - 0.01 <= changed.min() <= HIDDEN_RIGHT[1] + 0.01


def test_what_hides_it_is_a_post_or_all_beyond(photo: Photo) -> None:
    corners = []
    for seed in range(20):
        hidden = hide_end(np.random.default_rng(seed), photo)
        is_changed = (hidden != photo.picture).any(axis=2)
        corners.append(bool(is_changed[110, [0, -1]].any()))
    assert {True, False} == {*corners}
