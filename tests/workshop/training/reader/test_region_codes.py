"""Regions of real crops: drawn within limits, and codes replaced where the code is."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from workshop.rendering.country import russia
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
    ("groups", "most", "wanted"),
    [
        pytest.param("aab", 1.0, {"a": 2 / 3, "b": 1 / 3}, id="no limit"),
        pytest.param("aaaab", 0.5, {"a": 0.5, "b": 0.5}, id="two at the limit"),
        pytest.param("aaaaaabbc", 0.4, {"a": 0.4, "b": 0.4, "c": 0.2}, id="one then another"),
        pytest.param("aaab", 0.1, {"a": 0.5, "b": 0.5}, id="too few groups"),
    ],
)
def test_no_group_has_more_than_its_share(
    groups: str, most: float, wanted: dict[str, float]
) -> None:
    shares = capped_shares(list(groups), most)
    sums = {group: shares[[one == group for one in groups]].sum() for group in wanted}
    assert sums == pytest.approx(wanted)
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
        changed = replace_code(rng, crop, donors, russia())
        codes.add(changed.text[6:])
        assert changed.text[:6] == "A123BC"
        assert len(changed.text) == len(text)
        assert np.array_equal(changed.picture[:, :140], crop.picture[:, :140])
        field = (slice(12, 49), slice(165, 205))
        assert not np.array_equal(changed.picture[field], crop.picture[field])
        assert changed.picture[field].mean() == pytest.approx(crop.picture[field].mean(), abs=20)
    assert {"50", "750"} & codes
    assert len(codes) > 5
