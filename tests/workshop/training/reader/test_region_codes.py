"""Region codes and characters that are exchanged in real plates."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from workshop.rendering.country import russia
from workshop.rendering.russia import row_of_number
from workshop.rendering.russia_parts import Style, places_in_row
from workshop.training.reader.characters import exchange, locate, locate_all
from workshop.training.reader.crops import RealCrop
from workshop.training.reader.region_codes import (
    can_replace,
    capped_shares,
    group_by_region,
    group_donors,
    replace_code,
)


def crop_of(text: str, shade: float = 1.0) -> RealCrop:
    """Return a crop of a rendered plate with margins."""
    plate = cv2.resize(russia().plate_of(text).picture, (200, 43), interpolation=cv2.INTER_AREA)
    picture = np.full((61, 220, 3), 50, np.uint8)
    picture[9:52, 10:210] = (plate * shade).astype(np.uint8)
    corners = np.array([[10.0, 9], [210, 9], [210, 52], [10, 52]])
    return RealCrop(f"{text}.png", picture, text, corners=corners)


@pytest.mark.parametrize(
    ("groups", "most", "expected_shares"),
    [
        pytest.param("aab", 1.0, {"a": 2 / 3, "b": 1 / 3}, id="no limit"),
        pytest.param("aaaab", 0.5, {"a": 0.5, "b": 0.5}, id="two at the limit"),
        pytest.param("aaaaaabbc", 0.4, {"a": 0.4, "b": 0.4, "c": 0.2}, id="one then another"),
        pytest.param("aaab", 0.1, {"a": 0.5, "b": 0.5}, id="too few groups"),
    ],
)
def test_no_group_has_more_than_its_share(
    groups: str, most: float, expected_shares: dict[str, float]
) -> None:
    shares = capped_shares(list(groups), most)
    sums = {
        group: shares[[group_of_crop == group for group_of_crop in groups]].sum()
        for group in expected_shares
    }
    assert sums == pytest.approx(expected_shares)
    assert shares.sum() == pytest.approx(1)


def test_crops_are_grouped_by_the_code_of_their_region() -> None:
    crops = [crop_of("A123BC77"), crop_of("AB123417"), crop_of("A123BC197")]
    assert group_by_region(crops, russian()) == ["77", "17", "197"]


def test_only_codes_of_cars_with_known_corners_are_replaced() -> None:
    car = crop_of("A123BC77")
    others = [replace(car, corners=None), replace(car, lines=2), crop_of("AB123477")]
    assert can_replace(car, russian())
    assert not any(can_replace(crop, russian()) for crop in others)


@pytest.mark.parametrize("text", ["A123BC77", "A123BC197"])
def test_a_new_code_has_as_many_digits_and_changes_its_field_only(text: str) -> None:
    crop = crop_of(text, shade=0.6)
    donors = group_donors([crop_of("K456MH50"), crop_of("K456MH750")], russian())
    rng, codes = np.random.default_rng(0), set()
    for _ in range(20):
        changed_crop = replace_code(rng, crop, donors, russia())
        codes.add(changed_crop.text[6:])
        assert changed_crop.text[:6] == "A123BC"
        assert len(changed_crop.text) == len(text)
        assert np.array_equal(changed_crop.picture[:, :140], crop.picture[:, :140])
        field = (slice(12, 49), slice(165, 205))
        assert not np.array_equal(changed_crop.picture[field], crop.picture[field])
        assert changed_crop.picture[field].mean() == pytest.approx(
            crop.picture[field].mean(), abs=20
        )
    assert {"50", "750"} & codes
    assert len(codes) > 5


TEXTS = ("A123BC77", "K456MH50", "X789PT16", "O650EB799")


def off_by(crop: RealCrop, left_mm: float, right_mm: float) -> RealCrop:
    """Move the corners of a crop, as those that STN finds are off."""
    crop.quad[[0, 3], 0] += left_mm * 200 / 520
    crop.quad[[1, 2], 0] += right_mm * 200 / 520
    return crop


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("off_mm", [(0, 0), (8, 8), (-10, -10), (-6, 6)])
def test_characters_are_found_where_the_corners_are_off(
    text: str, off_mm: tuple[float, float]
) -> None:
    edges = locate(off_by(crop_of(text), *off_mm), len(text) - 6)
    assert edges is not None
    scale = 520 / (520 + off_mm[1] - off_mm[0])
    columns = (
        np.array(places_in_row(Style(), text[:6], row_of_number(len(text) - 6))) - off_mm[0]
    ) * scale
    assert (edges[1:-1] < columns[1:, 0] + 5).all()
    assert (edges[1:-1] > columns[:-1, 1] - 5).all()


def test_characters_that_cannot_be_told_apart_are_not_found() -> None:
    plate = crop_of("A123BC77")
    plate.picture[:] = plate.picture.mean().astype(np.uint8)
    assert locate(plate, 2) is None
    behind_a_post = crop_of("A123BC77")
    behind_a_post.picture[:, 60:105] = 20
    assert locate(behind_a_post, 2) is None


def test_a_plate_gets_characters_of_others_and_keeps_its_kinds_and_region() -> None:
    crops = [crop_of(text) for text in TEXTS[:3]]
    places = locate_all(crops, russian())
    assert set(places.of_crops) == {crop.name for crop in crops}
    rng, texts = np.random.default_rng(0), set()
    for _ in range(12):
        changed_crop = exchange(rng, crops[0], places)
        texts.add(changed_crop.text)
        assert changed_crop.text[6:] == "77"
        assert [character.isdigit() for character in changed_crop.text] == [
            character.isdigit() for character in TEXTS[0]
        ]
        assert np.array_equal(changed_crop.picture[:, 165:], crops[0].picture[:, 165:])
        drawn_pixels, old_pixels = (
            crop_of(text).picture[9:52, 15:155] for text in (changed_crop.text, TEXTS[0])
        )
        if changed_crop.text != TEXTS[0]:
            changed_pixels = changed_crop.picture[9:52, 15:155].astype(int)
            assert (
                np.abs(changed_pixels - drawn_pixels).mean()
                < 0.7 * np.abs(changed_pixels - old_pixels).mean()
            )
    assert len(texts) > 6
