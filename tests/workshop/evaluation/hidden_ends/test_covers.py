import numpy as np
import pytest

from workshop.evaluation.hidden_ends.counting import COVERS, hide_right

QUAD = np.array([[100.0, 80.0], [300.0, 80.0], [300.0, 120.0], [100.0, 120.0]])
"""A plate of 200 x 40 px."""
GREEN = (0, 255, 0)


def hide(kind: str, share: float = 0.2, seed: int = 0) -> np.ndarray:
    """Return the pixels of a green picture that a cover has changed, [200, 400]."""
    picture = np.full((200, 400, 3), GREEN, np.uint8)
    before = picture.copy()
    hidden = hide_right(np.random.default_rng(seed), picture, QUAD, share, COVERS[kind])
    assert (picture == before).all()
    return (hidden != before).any(axis=2)


@pytest.mark.parametrize("kind", COVERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_cover_hides_the_plates_right_end_and_nothing_left_of_it(kind: str, seed: int) -> None:
    is_changed = hide(kind, seed=seed)
    assert is_changed[81:119, 268:298].all()  # the last fifth begins at 260; the edge is slanted
    assert not is_changed[:, :232].any()


@pytest.mark.parametrize("kind", ["dirt", "snow"])
def test_dirt_and_snow_lie_on_the_plate_alone(kind: str) -> None:
    rows, columns = np.nonzero(hide(kind))
    assert rows.min() >= 77
    assert rows.max() <= 123
    assert columns.max() <= 312


@pytest.mark.parametrize("kind", ["post", "car"])
def test_posts_and_cars_are_higher_than_the_plate(kind: str) -> None:
    is_changed = hide(kind)
    assert is_changed[10, 250:310].any()
    assert is_changed[190, 250:310].any()


def test_a_cover_beyond_the_picture_is_clipped() -> None:
    moved = QUAD + np.array([90.0, 0.0])
    picture = np.full((200, 400, 3), GREEN, np.uint8)
    hidden = hide_right(np.random.default_rng(0), picture, moved, 0.3, COVERS["car"])
    assert hidden.shape == picture.shape
    assert (hidden[100, 360:] != picture[100, 360:]).any(axis=1).all()
