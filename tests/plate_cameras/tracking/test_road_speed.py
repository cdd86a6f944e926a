"""Speeds on the road, from boxes that a pinhole camera would give."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import atan, cos, degrees, radians, sin

import numpy as np
import pytest

from plate_cameras.passes import CAMERA, Observation
from plate_cameras.tracking.road_speed import BOX_M, road_speed_of
from tests.plate_cameras.passing import observation, plate

SIZE_WH, FOCAL_PX = (1280, 720), 2000.0
ANGLE_DEG = 2 * degrees(atan(SIZE_WH[0] / 2 / FOCAL_PX))
HALF_M = np.array([[-0.5, -0.125], [0.5, 0.125]]) * BOX_M
KMH = 36.0


def drive(
    way_m: Callable[[float], float],
    *,
    pan_deg: float = 0.0,
    noise_px: float = 0.0,
    looks: int = 12,
    height: float = 1.0,
    source: str = "",
) -> list[Observation]:
    """Return the looks at a vehicle that comes from 30 m to a camera which is 2 m beside its lane.

    Args:
        way_m: The way driven at a time.
        pan_deg: Turn of the camera to the lane.
        noise_px: Standard deviation of each side of a box.
        looks: Number of looks, eight in a second.
        height: Height of the plate, in that of a plate of one line.
        source: Source of the readings.
    """
    rng, turn = np.random.default_rng(0), radians(pan_deg)
    observations = []
    for number in range(looks):
        ahead = 30 - way_m(number / 8)
        corners = []
        for x, y in HALF_M * [1, height]:
            right, far = 2 + x, ahead
            across = right * cos(turn) - far * sin(turn)
            depth = right * sin(turn) + far * cos(turn)
            corners += [640 + FOCAL_PX * across / depth, 360 + FOCAL_PX * (3 + y) / depth]
        box = tuple(np.array(corners) + rng.normal(0, noise_px, 4) if noise_px else corners)
        seen_at = observation(number / 8, replace(plate((0, 0)), xyxy=box))
        observations.append(replace(seen_at, source=source))
    return observations


def at_speed(time_s: float) -> float:
    return KMH / 3.6 * time_s


def brake(time_s: float) -> float:
    return 10 * min(time_s, 0.4)


def stand(time_s: float) -> float:
    del time_s
    return 10.0


def kmh(looks: Sequence[Observation]) -> float | None:
    speed = road_speed_of(looks, SIZE_WH, ANGLE_DEG)
    return speed.kmh if speed else None


@pytest.mark.parametrize("pan_deg", [-8.0, 0.0, 12.0])
def test_a_speed_is_right_whatever_the_angle_of_the_camera(pan_deg: float) -> None:
    assert kmh(drive(at_speed, pan_deg=pan_deg)) == pytest.approx(KMH, rel=0.01)


def test_the_error_covers_the_noise_of_boxes_and_grows_with_it() -> None:
    errors = []
    for noise_px in (0.2, 0.8):
        speed = road_speed_of(drive(at_speed, noise_px=noise_px), SIZE_WH, ANGLE_DEG)
        assert speed is not None
        assert abs(speed.kmh - KMH) <= speed.error_kmh
        errors.append(speed.error_kmh)
    assert errors[0] < errors[1]


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([], id="no look"),
        pytest.param(drive(at_speed, looks=4), id="too few looks"),
        pytest.param(drive(brake), id="it brakes and stops"),
        pytest.param(drive(stand), id="it stands"),
        pytest.param(drive(at_speed, noise_px=6), id="boxes are too rough"),
        pytest.param(drive(at_speed, height=2.5), id="a plate of two lines"),
        pytest.param(drive(at_speed, source=CAMERA), id="the camera's own boxes"),
        pytest.param([replace(look, time_s=1.0) for look in drive(at_speed)], id="at one time"),
    ],
)
def test_no_speed_is_told_that_the_looks_do_not_show(looks: list[Observation]) -> None:
    assert kmh(looks) is None


def test_a_camera_without_an_angle_of_view_tells_no_speed() -> None:
    assert road_speed_of(drive(at_speed), SIZE_WH, None) is None
