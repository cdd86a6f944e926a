"""Pictures without plates: streets and roads with things where they are said to be."""

from collections.abc import Iterator

import numpy as np
import pytest

from workshop.rendering.plateless.plateless_pictures import (
    CAPTION,
    PlatelessPicture,
    draw_plateless,
)

SIZE_WH = (960, 540)


@pytest.fixture(scope="module")
def pictures() -> Iterator[list[PlatelessPicture]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workshop.rendering.plateless.plateless_pictures.SIZES_WH", ((320, 240),))
        patch.setattr("workshop.rendering.plateless.plateless_pictures.ROAD_SIZES_WH", (SIZE_WH,))
        yield list(draw_plateless(6, seed=3))


def test_there_are_parked_cars_roads_and_captions(pictures: list[PlatelessPicture]) -> None:
    assert {picture.picture.shape for picture in pictures} == {(240, 320, 3), (*SIZE_WH[::-1], 3)}
    kinds = [{thing.kind for thing in picture.things} for picture in pictures]
    assert 0 < sum(CAPTION in kinds_there for kinds_there in kinds) < len(kinds)
    assert all(kinds_there - {CAPTION} for kinds_there in kinds)


def test_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.ROADS", 0.0)
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.SIZES_WH", ((320, 240),))
    (first,), (same,), (other,) = (list(draw_plateless(1, seed)) for seed in (4, 4, 5))
    assert np.array_equal(first.picture, same.picture)
    assert first.things == same.things
    assert not np.array_equal(first.picture, other.picture)


def test_parked_things_lie_in_the_picture(pictures: list[PlatelessPicture]) -> None:
    parked = [picture for picture in pictures if picture.picture.shape[0] == 240]
    boxes = np.array(
        [thing.xyxy for picture in parked for thing in picture.things if thing.kind != CAPTION]
    )
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2] <= 320).all()
    assert (boxes[:, 3] <= 240).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()


def test_a_thing_is_where_its_box_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.KINDS", {"bar code": None})
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.SIZES_WH", ((320, 240),))
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.ROADS", 0.0)
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.GOOD_CAMERAS", 1.0)
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.THINGS", (1, 2))
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.MAX_CARS", 0)
    monkeypatch.setattr("workshop.rendering.plateless.plateless_pictures.CAPTIONS", 0.0)
    (drawing,) = draw_plateless(1, seed=1)
    x0, y0, x1, y1 = (round(side) for side in drawing.things[0].xyxy)
    inside = drawing.picture[y0:y1, x0:x1].astype(float)
    assert drawing.things[0].kind == "bar code"
    assert inside.std() > 1.5 * drawing.picture[y1:].std()
