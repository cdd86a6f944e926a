"""Real plates seen again: from elsewhere, in other light, and with the corners that they have."""

import pickle
from collections import Counter
from dataclasses import replace

import cv2
import numpy as np
import pytest

from orchestrator.formats.plate_formats import COUNTRIES, RUSSIA
from workshop.training.reader.crops import RealCrop
from workshop.training.reader.examination import cut_exactly
from workshop.training.reader.sources import (
    SMALL_PX,
    RealPlates,
    RenderedPlates,
    photograph_again,
    see_again,
)

CORNERS = np.array([[20.0, 12], [200, 16], [199, 44], [21, 40]])


def crop_of(corners: np.ndarray | None = None) -> RealCrop:
    """A grey crop whose plate is white."""
    picture = np.full((56, 220, 3), 60, np.uint8)
    cv2.fillConvexPoly(picture, CORNERS.astype(np.int32), (230, 230, 230))
    return RealCrop("1_1.png", picture, "A123BC77", corners=corners)


def test_a_real_crop_is_cut_differently_each_time() -> None:
    rng = np.random.default_rng(0)
    first, second = (see_again(rng, crop_of(CORNERS)) for _ in range(2))
    assert first.crop.shape == second.crop.shape == (24, 94, 3)
    assert (first.crop != second.crop).any()
    assert first.text == "A123BC77"
    assert cut_exactly([crop_of()]).shape == (1, 24, 94, 3)


def test_corners_are_told_where_they_are_known() -> None:
    rng = np.random.default_rng(0)
    assert np.isfinite(see_again(rng, crop_of(CORNERS)).corners).all()
    assert np.isnan(see_again(rng, crop_of()).corners).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_corners_of_a_photo_are_those_of_the_plate_in_it(seed: int) -> None:
    photo = photograph_again(np.random.default_rng(seed), crop_of(CORNERS))
    inside, outside = (_mean_of(photo.picture, _scaled(photo.quad, by)) for by in (0.8, 1.3))
    assert inside > outside


def test_some_plates_are_seen_from_far_and_some_aslant() -> None:
    rng = np.random.default_rng(1)
    quads = [photograph_again(rng, crop_of(CORNERS)).quad for _ in range(60)]
    edges = np.array([quad[1] - quad[0] for quad in quads])
    widths, angles = np.linalg.norm(edges, axis=1), np.arctan2(edges[:, 1], edges[:, 0])
    assert widths.min() < 60
    assert widths.max() > 150
    assert 5 < (np.abs(np.rad2deg(angles)) > 8).sum() < 30


@pytest.mark.parametrize("seed", range(4))
def test_a_share_of_the_plates_has_few_pixels(seed: int) -> None:
    photo = photograph_again(np.random.default_rng(seed), crop_of(CORNERS), small_share=1.0)
    assert photo.quad.max(axis=0)[0] - photo.quad.min(axis=0)[0] < 1.2 * SMALL_PX


def test_a_small_plate_is_turned_before_it_is_shrunk() -> None:
    """Turned afterwards, its strokes would lose a fifth of their contrast."""
    striped = crop_of(CORNERS)
    striped.picture[:, ::14] = striped.picture[:, 1::14] = striped.picture[:, 2::14] = 0
    pictures = [
        photograph_again(np.random.default_rng(seed), striped, small_share=1.0).picture
        for seed in range(60)
    ]
    contrasts = [
        np.abs(np.diff(picture[len(picture) // 2, :, 0].astype(int))).mean() for picture in pictures
    ]
    assert np.median(contrasts) > 38


def test_no_region_is_drawn_too_often_and_some_plates_get_another_code() -> None:
    texts = [f"A{number:03d}AA35" for number in range(30)]
    texts += [f"B{number:03d}BB{code}" for number, code in enumerate(range(36, 56))]
    crops = tuple(replace(crop_of(CORNERS), text=text) for text in texts)
    rng = np.random.default_rng(0)
    even = RealPlates(crops, RUSSIA, most_of_region=0.1)
    region_counts = Counter(even.draw(rng).text[-2:] for _ in range(600))
    assert 0.05 < region_counts["35"] / 600 < 0.15
    other = RealPlates(crops, RUSSIA, most_of_region=0.1, new_codes=1.0)
    changed_crops = [other.draw(rng) for _ in range(20)]
    assert not {crop.text for crop in changed_crops} & {*texts}
    assert len(pickle.loads(pickle.dumps(other)).crops) == 50


def test_no_first_letter_is_drawn_too_often_and_rare_ones_more_often() -> None:
    letters = "B" * 60 + "Y" * 30 + "X" * 10
    texts = [f"{letter}{number:03d}AA35" for number, letter in enumerate(letters)]
    crops = tuple(replace(crop_of(CORNERS), text=text) for text in texts)
    rng = np.random.default_rng(0)
    even = RealPlates(crops, RUSSIA, most_of_letter=0.4)
    letter_counts = Counter(even.draw(rng).text[0] for _ in range(1000))
    assert (letter_counts["B"], letter_counts["Y"], letter_counts["X"]) == pytest.approx(
        (400, 400, 200), abs=50
    )


def test_plates_that_begin_with_a_digit_are_one_group() -> None:
    texts = ["B001AA35"] * 8 + ["0001AA35", "1001AA35"]
    crops = tuple(replace(crop_of(CORNERS), text=text) for text in texts)
    even = RealPlates(crops, RUSSIA, most_of_letter=0.5)
    rng = np.random.default_rng(0)
    digit_count = sum(even.draw(rng).text[0].isdigit() for _ in range(1000))
    assert digit_count == pytest.approx(500, abs=50)


def _scaled(quad: np.ndarray, by: float) -> np.ndarray:
    middle = quad.mean(axis=0)
    return middle + (quad - middle) * by


def _mean_of(picture: np.ndarray, quad: np.ndarray) -> float:
    """Mean along the edges of a quadrilateral."""
    edges = np.zeros(picture.shape[:2], np.uint8)
    cv2.polylines(edges, [quad.round().astype(np.int32)], isClosed=True, color=(1,))
    return float(picture[edges > 0].mean())


def test_a_share_of_the_rendered_plates_has_two_equal_characters_at_one_end() -> None:
    formats = COUNTRIES / "neighbours" / "formats.toml"
    source = RenderedPlates(formats, even_share=1.0, doubled_share=1.0)
    texts = [source(np.random.default_rng(seed)).text for seed in range(40)]
    ends = [text.strip("ⒶⒷⒼⓀⓆⓊⓏ") for text in texts if text]
    assert sum(text[0] == text[1] or text[-1] == text[-2] for text in ends) > len(ends) / 2
