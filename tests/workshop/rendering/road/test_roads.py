"""Roads: plates where their labels say, and none hidden."""

import numpy as np
import pytest

from workshop.rendering.cars import draw_car
from workshop.rendering.road.bodies import Stand, draw_body
from workshop.rendering.road.roads import road
from workshop.rendering.road.viewpoints import Viewpoint
from workshop.rendering.scenery import Scene

TEXTS = ["A123BC77", "M456OP199", "K777EH50", "TO05577", "B840OK197", "E001KX16"]
SIZE_WH = (960, 540)


def test_no_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="texts: wanted at least one, got none"):
        road([])


@pytest.fixture(scope="module")
def roads() -> list[Scene]:
    return [road(TEXTS, SIZE_WH, seed=seed) for seed in range(6)]


@pytest.mark.parametrize("seed", range(6))
def test_labels_lie_in_the_picture_with_a_text_each(roads: list[Scene], seed: int) -> None:
    road = roads[seed]
    count = len(road.texts)
    assert road.texts == tuple(TEXTS[:count])
    assert road.picture.shape == (*SIZE_WH[::-1], 3)
    assert road.quads.shape == (count, 4, 2)
    assert (road.quads > 0).all()
    assert (road.quads < SIZE_WH).all()
    np.testing.assert_allclose(road.xyxy[:, :2], road.quads.min(axis=1))
    np.testing.assert_allclose(road.xyxy[:, 2:], road.quads.max(axis=1))


def test_plates_are_small_and_some_lie_aslant(roads: list[Scene]) -> None:
    quads = np.concatenate([road.quads for road in roads])
    along = quads[:, 1] - quads[:, 0]
    widths = np.linalg.norm(along, axis=1)
    angles = np.abs(np.rad2deg(np.arctan2(along[:, 1], along[:, 0])))
    assert widths.min() > 20
    assert widths.max() < 130
    assert angles.max() > 10
    assert (angles < 5).sum() > 10


def test_the_seed_decides(roads: list[Scene]) -> None:
    assert np.array_equal(road(TEXTS, SIZE_WH, seed=3).picture, roads[3].picture)
    assert not np.array_equal(roads[3].picture, roads[4].picture)


@pytest.mark.parametrize("turn_deg", [(0.0, 10.0, 0.0), (20.0, 15.0, 25.0)])
def test_a_plate_is_where_its_corners_are(turn_deg: tuple[float, float, float]) -> None:
    car = draw_car(np.random.default_rng(0), 400, front=False)
    (left, top), (right, bottom) = np.round(car.plate[[0, 2]]).astype(int)
    car.sprite[:, :, :3] = 0
    car.sprite[top:bottom, left:right, :3] = 255
    pan = np.tan(np.deg2rad(turn_deg[0])) * 8
    view = Viewpoint((-float(pan), -8.0, 2.2), turn_deg, 800.0, (1280, 960))
    layer, quad = draw_body(view, Stand((0.0, 0.0), 0.0, 1.6, (0.2, 0.2)), car)
    rows, columns = np.nonzero(layer.light[:, :, :3].min(axis=2) > 127)
    plate_points = np.array([columns + layer.left, rows + layer.top]) + 0.5
    np.testing.assert_allclose(plate_points.min(axis=1), quad.min(axis=0), atol=1.5)
    np.testing.assert_allclose(plate_points.max(axis=1), quad.max(axis=0), atol=1.5)


def test_a_leaning_cabin_does_not_move_the_plate() -> None:
    car = draw_car(np.random.default_rng(0), 200)
    view = Viewpoint((0.0, -8.0, 5.0), (0.0, 30.0, 0.0), 800.0, (1280, 960))
    upright, leaning = (
        draw_body(view, Stand((0.0, 0.0), 0.0, 1.6, slope), car)[1]
        for slope in ((0.0, 0.0), (0.6, 0.4))
    )
    assert np.array_equal(upright, leaning)
