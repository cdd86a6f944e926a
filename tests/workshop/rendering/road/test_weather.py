"""Weather and light: each does what it is named for, and leaves its input alone."""

from collections.abc import Callable

import numpy as np
import pytest

from workshop.rendering.camera import Light
from workshop.rendering.road.weather import (
    fog,
    grain,
    infrared,
    night,
    rain,
    rolling,
    shine,
    slanted_line,
    snow,
)

QUAD = np.array([[40.0, 40.0], [80.0, 40.0], [80.0, 50.0], [40.0, 50.0]])
Change = Callable[[np.random.Generator, Light], Light]


def with_plate() -> Light:
    light = np.full((90, 160, 3), (90, 120, 150), np.float32)
    light[40:50, 40:80] = 220
    return light


@pytest.mark.parametrize("change", [rain, snow, fog, rolling])
def test_what_falls_changes_a_copy(change: Change) -> None:
    light = with_plate()
    changed_light = change(np.random.default_rng(1), light)
    assert changed_light.shape == light.shape
    assert np.isfinite(changed_light).all()
    assert np.abs(changed_light - light).max() > 2
    assert np.array_equal(light, with_plate())


@pytest.mark.parametrize("seed", range(6))
def test_infrared_is_grey_and_its_plates_shine(seed: int) -> None:
    changed_light = infrared(np.random.default_rng(seed), with_plate(), [QUAD])
    assert np.allclose(changed_light[:, :, 0], changed_light[:, :, 2])
    assert changed_light[43:47, 45:75].mean() > 1.5 * changed_light[:30].mean()


@pytest.mark.parametrize("seed", range(6))
def test_night_is_dark_and_no_bluer_than_day(seed: int) -> None:
    day = with_plate()
    changed_light = night(np.random.default_rng(seed), day, [QUAD])
    assert changed_light[:30].mean() < 0.75 * day[:30].mean()
    blue, green, red = changed_light[:30].reshape(-1, 3).mean(axis=0)
    assert blue < green < red


def test_a_lamp_is_brightest_where_it_is_and_blooms_around() -> None:
    changed_light = shine(
        np.random.default_rng(0), np.zeros((90, 160, 3), "f4"), [(50, 30, 4, (200,) * 3)]
    )
    assert changed_light[30, 50, 0] > 100
    assert changed_light[30, 50, 0] > changed_light[30, 57, 0] > changed_light[30, 80, 0]


def test_a_sensor_adds_as_much_noise_as_it_is_told() -> None:
    rng = np.random.default_rng(0)
    assert np.array_equal(grain(rng, with_plate(), 0.0), with_plate())
    assert 4 < (grain(rng, with_plate(), 5.0) - with_plate()).std() < 6


@pytest.mark.parametrize("angle_deg", [0.0, 30.0, 90.0, -140.0])
def test_a_motion_keeps_light_and_place(angle_deg: float) -> None:
    kernel = slanted_line(7, angle_deg)
    assert kernel.sum() == pytest.approx(1)
    rows, columns = np.indices(kernel.shape) - kernel.shape[0] // 2
    assert (kernel * rows).sum() == pytest.approx(0, abs=0.05)
    assert (kernel * columns).sum() == pytest.approx(0, abs=0.05)
