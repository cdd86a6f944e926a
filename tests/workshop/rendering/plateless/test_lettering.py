"""Rows of lettering: as high as asked for, and within their board."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from workshop.rendering.glyphs import Mask, glyph_mask
from workshop.rendering.plateless.lettering import (
    font_row,
    glyph_row,
    random_row,
    stamp,
    strange_row,
)

ROWS: dict[str, Callable[[], Mask]] = {
    "font": lambda: font_row("8-495", 40, cv2.FONT_HERSHEY_DUPLEX, 9),
    "glyphs": lambda: glyph_row("8-4 95", 40, 0.9),
    "strange": lambda: strange_row(np.random.default_rng(2), 4, 40),
    "random": lambda: random_row(np.random.default_rng(3), "KACCA", 40),
}


@pytest.mark.parametrize("draw", ROWS.values(), ids=ROWS.keys())
def test_a_row_is_as_high_as_asked_for_and_has_ink(draw: Callable[[], Mask]) -> None:
    row = draw()
    assert row.shape[0] == 40
    assert row.shape[1] > 40
    assert row.max() == 255


def test_a_row_of_glyphs_has_the_glyphs_of_plates() -> None:
    row, glyph = glyph_row("B", 40, 1.0), glyph_mask("B", 40)
    np.testing.assert_array_equal(row[:, 5:-5], glyph)


def test_signs_without_glyphs_are_drawn_in_a_font() -> None:
    for seed in range(20):
        assert random_row(np.random.default_rng(seed), "a.b", 30).shape[0] == 30


def test_a_wide_row_is_narrowed_to_its_room() -> None:
    board = np.zeros((60, 200, 3), np.uint8)
    stamp(board, np.full((20, 400), 255, np.uint8), (100, 30), (9, 8, 7), 120)
    is_painted = (board == (9, 8, 7)).all(axis=2)
    assert cv2.boundingRect(is_painted.astype(np.uint8)) == (40, 20, 120, 20)


def test_a_row_beyond_its_board_is_refused() -> None:
    with pytest.raises(ValueError, match="wanted one within the board, got 50 x 20"):
        stamp(
            np.zeros((60, 200, 3), np.uint8), np.zeros((20, 50), np.uint8), (10, 30), (0,) * 3, 90
        )
