"""Drawn pages: their texts and the places of these."""

import cv2
import numpy as np

from examples.ocr.pages import Page


def pixels(page: Page) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(page.encode(), np.uint8), cv2.IMREAD_COLOR)


def test_a_page_without_lines_is_its_ground() -> None:
    blank = pixels(Page((), (40, 20), ground="gold"))
    assert blank.shape == (20, 40, 3)
    assert np.unique(blank.reshape(-1, 3), axis=0).tolist() == [[0, 215, 255]]


def test_lines_stand_below_one_another_each_in_its_part_of_the_page() -> None:
    rows = (pixels(Page(("HH", "", "HH"), (200, 300))) == 0).any(axis=(1, 2)).nonzero()[0]
    first, last = rows[rows < 150], rows[rows >= 150]
    assert 30 < first.min() < 50 < first.max() < 70
    assert 230 < last.min() < 250 < last.max() < 270


def test_a_page_turns_counter_clockwise() -> None:
    ink = (pixels(Page(("HHHHHHHH",), (400, 200), turn_deg=15)) == 0).all(axis=2)
    left, right = ink[:, :100].nonzero()[0].mean(), ink[:, 150:].nonzero()[0].mean()
    assert left > right + 10
