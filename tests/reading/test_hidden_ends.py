"""Plates of which only a beginning can be seen are told from whole plates."""

from itertools import islice

import cv2
import numpy as np
import pytest
import torch

from orchestrator.formats.plate_formats import russian
from orchestrator.reading.affine_crops import frames_around, frames_of, sample_frame
from orchestrator.reading.ctc import Reading
from orchestrator.reading.hidden_ends import (
    FLOOR,
    INPUT_HW,
    NETWORK,
    find_hidden_ends,
    read_layers,
    see_ends,
    weigh_ends,
)
from workshop.rendering.covers import COVERS, hide_right
from workshop.rendering.samples.photos import Photo, photograph_plate

PLATES = 12
READING = Reading("A123BC18", (0.99,) * 8, (("A123BC18", 0.99),))


def draw(digits: int) -> list[tuple[np.random.Generator, Photo]]:
    """Photograph plates with so many digits of a region."""
    generators = np.random.default_rng(6).spawn(8 * PLATES)
    photos = ((rng, photograph_plate(rng, "ru_car", widths_px=(90, 200))) for rng in generators)
    return [*islice((pair for pair in photos if len(pair[1].text) == 6 + digits), PLATES)]


def count_hidden(pictures: list[np.ndarray], quads: list[np.ndarray]) -> int:
    frames = frames_around(np.array(quads, np.float32))
    looks = zip(pictures, frames, strict=True)
    return sum(
        len(find_hidden_ends(picture, frame[None], [READING], russian()))
        for picture, frame in looks
    )


def test_nearly_all_whole_plates_end_where_they_should() -> None:
    photos = [photo for _, photo in draw(2)]
    assert len(photos) == PLATES
    assert count_hidden([each.picture for each in photos], [each.quad for each in photos]) <= 1


@pytest.mark.parametrize("kind", COVERS)
def test_most_plates_without_their_last_digit_do_not(kind: str) -> None:
    pictures, quads = [], []
    for rng, photo in draw(3):
        pictures.append(hide_right(rng, photo.picture, photo.quad, 0.15, COVERS[kind]))
        across = 0.15 * (photo.quad[1] - photo.quad[0])
        quads.append(photo.quad - np.outer([0, 1, 1, 0], across))
    assert count_hidden(pictures, quads) > PLATES / 2


@pytest.mark.parametrize(
    ("text", "score", "lines"),
    [
        pytest.param("A123BC186", 0.99, 1, id="three digits"),
        pytest.param("A123BC47", 0.99, 1, id="no region has one more digit"),
        pytest.param("AB12377", 0.99, 1, id="another format"),
        pytest.param("A123BC18", 0.4, 1, id="not shown in any case"),
        pytest.param("A123BC18", 0.99, 2, id="two lines"),
    ],
)
def test_only_sure_texts_that_may_be_beginnings_are_looked_at(text, score, lines) -> None:
    reading = Reading(text, (), ((text, score),), lines)
    no_picture = np.empty((0, 0, 3), np.uint8)
    frames = np.eye(2, 3, dtype=np.float32)[None]
    assert find_hidden_ends(no_picture, frames, [reading], russian()) == set()


def test_plates_of_a_picture_are_cut_as_any_plate_and_alike_on_any_device() -> None:
    picture = cv2.resize(
        np.random.default_rng(1).integers(0, 256, (30, 40, 3), np.uint8), (640, 480)
    )
    frames = frames_of([(20, 30, 220, 80), (600, 440, 680, 500), (300, 200, 330, 210)])
    ends = see_ends(picture, frames)
    np.testing.assert_array_equal(see_ends(torch.from_numpy(picture), frames), ends)
    for frame, plate in zip(frames, ends, strict=True):
        grey = cv2.cvtColor(sample_frame(picture, frame, INPUT_HW), cv2.COLOR_BGR2GRAY)
        np.testing.assert_allclose(plate, (grey - grey.mean()) / (grey.std() + FLOOR), atol=1e-5)


def test_plates_are_weighed_together_as_each_alone() -> None:
    layers = read_layers(NETWORK)
    ends = np.random.default_rng(1).normal(0, 1, (3, *INPUT_HW)).astype(np.float32)
    alone = [weigh_ends(each[None], layers)[0] for each in ends]
    assert weigh_ends(ends, layers) == pytest.approx(alone, abs=1e-4)
    assert len(weigh_ends(ends[:0], layers)) == 0
