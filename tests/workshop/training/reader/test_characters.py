"""Characters of real plates are found, and put over those of other plates."""

import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from tests.workshop.training.reader.test_region_codes import crop_of
from workshop.rendering.russia import row_of_number
from workshop.rendering.russia_parts import Style, places_in_row
from workshop.training.reader.characters import exchange, locate, locate_all
from workshop.training.reader.crops import RealCrop

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
    seen = (
        np.array(places_in_row(Style(), text[:6], row_of_number(len(text) - 6))) - off_mm[0]
    ) * scale
    assert (edges[1:-1] < seen[1:, 0] + 5).all()
    assert (edges[1:-1] > seen[:-1, 1] - 5).all()


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
        changed = exchange(rng, crops[0], places)
        texts.add(changed.text)
        assert changed.text[6:] == "77"
        assert [c.isdigit() for c in changed.text] == [c.isdigit() for c in TEXTS[0]]
        assert np.array_equal(changed.picture[:, 165:], crops[0].picture[:, 165:])
        wanted, old = (crop_of(text).picture[9:52, 15:155] for text in (changed.text, TEXTS[0]))
        if changed.text != TEXTS[0]:
            seen = changed.picture[9:52, 15:155].astype(int)
            assert np.abs(seen - wanted).mean() < 0.7 * np.abs(seen - old).mean()
    assert len(texts) > 6
