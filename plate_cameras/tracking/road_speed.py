"""The speed of a vehicle on the road, from the widths of its plate.

A plate of one line is 520 mm wide. So its width in the picture tells its distance from the camera,
and its place tells its direction. A straight line through these points is the vehicle's way. Frames
tell a width to about a pixel, so the speed is an estimate, and no evidence of an offence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, radians, tan

import numpy as np
from numpy.typing import NDArray

from plate_cameras.passes import CAMERA, Observation

PLATE_M = 0.52
"""Width of a plate of one line (GOST R 50577-2018, type 1), metres."""
BOX_M = 1.03 * PLATE_M
"""Width of a box: on rendered clips, boxes are 3 % wider than plates."""
MIN_PROPORTION = 2.4
"""Least width of a box over its height. Plates of two lines, which are narrower, have less."""
MIN_LOOKS = 5
MIN_SPEED_M_S = 1.0
MAX_DEVIATION = 0.15
"""Greatest distance of a look from where a constant speed would put it, as a part of the way.
Vehicles that brake or stop are farther away."""
SYSTEMATIC = 0.06
"""Error that all looks of a pass have in common, as a part of the speed: of boxes and of lenses."""
MAX_ERROR = 0.3
"""Greatest error of a speed that is reported, as a part of the speed."""
ROUNDS = 5
"""A plate looks narrower if the vehicle drives aslant, and the angle follows from its way. Each
round takes the angle from the way of the round before."""
MIN_NARROWING = 0.3  # an unlikely way must not turn the plate edge-on

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class RoadSpeed:
    """The mean speed of a vehicle, with the error that nine in ten passes do not exceed."""

    kmh: float
    error_kmh: float


def road_speed_of(
    observations: Sequence[Observation], size_wh: tuple[int, int], view_angle_deg: float | None
) -> RoadSpeed | None:
    """Return the speed of a pass; None if it cannot be measured.

    Args:
        observations: The plate in some frames, in the order of time.
        size_wh: Size of the frames, pixels.
        view_angle_deg: Horizontal angle of view of the camera, degrees; None if not known.
    """
    looks = [look for look in observations if _is_measurable(look, size_wh)]
    if view_angle_deg is None or len(looks) < MIN_LOOKS or looks[0].time_s == looks[-1].time_s:
        return None
    times = np.array([look.time_s for look in looks])
    focal_px = size_wh[0] / 2 / tan(radians(view_angle_deg) / 2)
    boxes = np.array([look.plate.xyxy for look in looks]) - np.array(size_wh * 2) / 2
    places = _locate(times, boxes / focal_px)
    velocity, noise, deviation_m = _fit(times, places)
    speed = float(np.linalg.norm(velocity))
    way = float(np.linalg.norm(places[-1] - places[0]))
    error = hypot(2 * noise, SYSTEMATIC * speed)
    if speed < MIN_SPEED_M_S or deviation_m > MAX_DEVIATION * way or error > MAX_ERROR * speed:
        return None
    return RoadSpeed(round(3.6 * speed, 1), round(3.6 * error, 1))


def _is_measurable(look: Observation, size_wh: tuple[int, int]) -> bool:
    x0, y0, x1, y1 = look.plate.xyxy
    is_long = x1 - x0 >= MIN_PROPORTION * (y1 - y0)
    return is_long and look.source != CAMERA and not look.plate.may_be_cut(size_wh)


def _locate(times: Numbers, boxes: Numbers) -> Numbers:
    """Return the places of a plate: metres to the right, downwards and ahead of the camera, (N, 3).

    Args:
        times: (N,) seconds.
        boxes: (N, 4) in focal lengths from the middle of the picture.
    """
    middles, widths = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2] - boxes[:, 0]
    rays = np.column_stack([middles, np.ones(len(boxes))])
    narrowing = np.ones(len(boxes))
    for _ in range(ROUNDS):
        places: Numbers = rays * (BOX_M * narrowing / widths)[:, None]
        x, y, z = _fit(times, places)[0]
        ahead = hypot(y, z) or 1.0
        narrowing = (ahead + middles[:, 0] * x * z / ahead) / (hypot(x, ahead))
        narrowing = narrowing.clip(MIN_NARROWING)
    return places


def _fit(times: Numbers, places: Numbers) -> tuple[Numbers, float, float]:
    """Fit a straight way at a constant speed.

    Returns:
        The velocity (3,), the standard error of the speed, m/s, and the greatest distance of a
        place from its place by the fit, along the way, metres.
    """
    weights = places[:, 2] ** -4.0  # the error of a distance grows with its square
    about = times - np.average(times, weights=weights)
    spread = (weights * about**2).sum()
    velocity = (weights * about) @ places / spread
    residuals = places - np.average(places, axis=0, weights=weights) - np.outer(about, velocity)
    along = residuals @ velocity / max(float(np.linalg.norm(velocity)), 1e-9)
    scatter = (weights * along**2).sum() / (len(times) - 2)
    return velocity, float(np.sqrt(scatter / spread)), float(abs(along).max())
