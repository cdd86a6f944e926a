"""Cameras over a road, and what they see of it."""

import numpy as np
import pytest

from workshop.rendering.road.surroundings import LANE_M, draw_surroundings
from workshop.rendering.road.viewpoints import Viewpoint, random_viewpoint

AHEAD = Viewpoint((0.0, -10.0, 2.0), (0.0, 0.0, 0.0), 1000.0, (1280, 720))


def test_right_is_right_down_is_down_and_a_metre_at_ten_metres_is_a_tenth_of_the_focal_length() -> (
    None
):
    assert AHEAD.project(np.array([[1.0, 0.0, 1.0]])).tolist() == [[740.0, 460.0]]


@pytest.mark.parametrize(
    ("turn_deg", "point"),
    [
        pytest.param((45.0, 0.0, 0.0), (10.0, 0.0, 2.0), id="panned to the right"),
        pytest.param((0.0, 45.0, 0.0), (0.0, -8.0, 0.0), id="tilted downwards"),
        pytest.param((0.0, 0.0, 30.0), (0.0, 0.0, 2.0), id="rolled"),
    ],
)
def test_a_turned_camera_looks_there(
    turn_deg: tuple[float, float, float], point: tuple[float, float, float]
) -> None:
    view = Viewpoint(AHEAD.place, turn_deg, 1000.0, (1280, 720))
    np.testing.assert_allclose(view.project(np.array([point])), [[640, 360]], atol=1e-6)


def test_what_a_rolled_camera_sees_turns_clockwise() -> None:
    view = Viewpoint(AHEAD.place, (0.0, 0.0, 90.0), 1000.0, (1280, 720))
    np.testing.assert_allclose(view.project(np.array([[1.0, 0.0, 2.0]])), [[640, 460]], atol=1e-6)


def test_rays_lead_to_what_is_projected() -> None:
    view = Viewpoint((1.0, -9.0, 5.0), (-8.0, 20.0, 12.0), 700.0, (64, 48))
    points = np.array(view.place) + view.rays()[[0, 20, 47], [3, 40, 63]].astype(float) * 7
    np.testing.assert_allclose(
        view.project(points), [[3.5, 0.5], [40.5, 20.5], [63.5, 47.5]], atol=1e-3
    )


def test_a_lens_bends_points_and_pictures_alike() -> None:
    view = Viewpoint(AHEAD.place, (0.0, 0.0, 0.0), 300.0, (320, 240), barrel=0.3)
    light = np.zeros((240, 320, 3), np.float32)
    light[40:45, 250:255] = 255
    rows, columns = np.nonzero(view.through_lens(light)[:, :, 0] > 127)
    center = np.array([columns.mean(), rows.mean()]) + 0.5
    np.testing.assert_allclose(view.bend(np.array([[252.5, 42.5]]))[0], center, atol=0.5)
    assert abs(center[0] - 252.5) > 2


@pytest.mark.parametrize("seed", range(20))
def test_a_random_camera_sees_its_plate(seed: int) -> None:
    view = random_viewpoint(np.random.default_rng(seed), (1280, 720))
    ends = view.project(np.array([[-0.26, 0.0, 0.5], [0.26, 0.0, 0.5]]))
    assert (np.abs(ends - view.middle) < [640, 640]).all()
    assert 18 < np.linalg.norm(ends[1] - ends[0]) < 110


def brightest(view: Viewpoint, seed: int, x: float) -> float:
    """Grey of the brightest tenth of a line along the road, over a whole period of its dashes."""
    light = draw_surroundings(np.random.default_rng(seed), view).mean(axis=2)
    points = np.array([[x, y, 0.0] for y in np.arange(0, 12, 0.1)])
    columns, rows = np.floor(view.project(points)).astype(int).T
    return float(np.percentile(light[rows, columns], 90))


@pytest.mark.parametrize("seed", range(3))
def test_lanes_are_painted_where_a_camera_sees_them(seed: int) -> None:
    view = Viewpoint((1.0, -8.0, 6.0), (3.0, 25.0, -10.0), 500.0, (640, 480))
    edge = LANE_M / 2
    assert brightest(view, seed, edge) > brightest(view, seed, edge + 1) + 20


def test_a_level_camera_has_houses_and_sky_above_the_middle_and_none_when_it_looks_down() -> None:
    level = Viewpoint((0.0, -8.0, 2.0), (0.0, 0.0, 0.0), 500.0, (320, 240))
    light = draw_surroundings(np.random.default_rng(2), level)
    ground, above = light[150:], light[:110]
    assert above.std() > 2 * ground[:, 120:200].std()
    steep = Viewpoint((0.0, -8.0, 6.0), (0.0, 60.0, 0.0), 500.0, (320, 240))
    assert draw_surroundings(np.random.default_rng(2), steep).std() < above.std()
