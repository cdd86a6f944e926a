"""The ground lies where the camera's projection says, and the sky above it."""

import numpy as np
import pytest

from workshop.rendering.road.surroundings import LANE_M, draw_surroundings
from workshop.rendering.road.viewpoints import Viewpoint


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
