"""Plates whose right end is hidden: what hides them, and the set of them."""

from pathlib import Path

import numpy as np
import pytest

from workshop.evaluation.datasets import read_scenes
from workshop.rendering import covers
from workshop.rendering.covers import COVERS, EDGE, KINDS, MAX_HIDDEN, hide_right, main

QUAD = np.array([[100.0, 80.0], [300.0, 80.0], [300.0, 120.0], [100.0, 120.0]])
"""A plate of 200 x 40 px."""
GREEN = (0, 255, 0)


def cover(kind: str, share: float = 0.2, seed: int = 0) -> np.ndarray:
    """Return the pixels of a green picture that a cover has changed, [200, 400]."""
    picture = np.full((200, 400, 3), GREEN, np.uint8)
    before = picture.copy()
    hidden = hide_right(np.random.default_rng(seed), picture, QUAD, share, COVERS[kind])
    assert (picture == before).all()
    return (hidden != before).any(axis=2)


@pytest.mark.parametrize("kind", COVERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_cover_hides_the_plates_right_end_and_nothing_left_of_it(kind: str, seed: int) -> None:
    is_changed = cover(kind, seed=seed)
    assert is_changed[81:119, 268:298].all()  # the last fifth begins at 260; the edge is slanted
    assert not is_changed[:, :232].any()


@pytest.mark.parametrize("kind", ["dirt", "snow"])
def test_dirt_and_snow_lie_on_the_plate_alone(kind: str) -> None:
    rows, columns = np.nonzero(cover(kind))
    assert rows.min() >= 77
    assert rows.max() <= 123
    assert columns.max() <= 312


@pytest.mark.parametrize("kind", ["post", "car"])
def test_posts_and_cars_are_higher_than_the_plate(kind: str) -> None:
    is_changed = cover(kind)
    assert is_changed[10, 250:310].any()
    assert is_changed[190, 250:310].any()


def test_a_cover_beyond_the_picture_is_clipped() -> None:
    moved = QUAD + np.array([90.0, 0.0])
    picture = np.full((200, 400, 3), GREEN, np.uint8)
    hidden = hide_right(np.random.default_rng(0), picture, moved, 0.3, COVERS["car"])
    assert hidden.shape == picture.shape
    assert (hidden[100, 360:] != picture[100, 360:]).any(axis=1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_the_right_end_of_a_plate_is_hidden(kind: str) -> None:
    picture = np.full((200, 400, 3), GREEN, np.uint8)
    hidden = covers.hide(np.random.default_rng(0), picture, QUAD, kind)
    left_x = round(300 - 200 * (MAX_HIDDEN + 0.04))
    assert (hidden[:, :left_x] == picture[:, :left_x]).all()
    assert (hidden.shape[1] < picture.shape[1]) == (kind == EDGE)


def test_the_command_writes_what_evaluation_reads(tmp_path: Path) -> None:
    main(["--out", str(tmp_path), "--plates", "2"])
    plates = [plate for scene in read_scenes(tmp_path) for plate in scene.plates]
    assert [plate.format for plate in plates] == [*KINDS, *KINDS]
    assert {len(plate.text) for plate in plates} == {9}
    assert len({plate.text for plate in plates}) == 2
