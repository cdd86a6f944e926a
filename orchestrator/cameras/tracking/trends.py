"""Trends of a pass: direction, speed, and whether the vehicle stands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import hypot, log
from statistics import median

from orchestrator.cameras.passes import Direction, Observation

LEAST_GROWTH = 0.1
"""Least change of the logarithm of a plate's size that shows a direction: 10 %."""
STANDING_WIDTHS_S = 0.4
"""Speed below which a vehicle stands, in plate widths a second: 0.2 m/s."""
STANDING_S = 1.0
"""Time for which it has stood."""


def direction_of(observations: Sequence[Observation]) -> Direction:
    """Return the direction in which a plate's size changes.

    The medians of the first and of the last quarter are compared, so a single poor box has no say.
    """
    part = max(1, len(observations) // 4)
    first = median(map(_size, observations[:part]))
    last = median(map(_size, observations[-part:]))
    growth = log(last / first)
    if abs(growth) < LEAST_GROWTH:
        return ""
    return "towards" if growth > 0 else "away"


def speed_of(observations: Sequence[Observation]) -> float:
    """Return the median speed from look to look, in plate widths a second; 0 for one look."""
    steps = (_step(*pair) for pair in pairwise(observations))
    speeds = [way / passed for way, passed in steps if passed > 0]
    return median(speeds) if speeds else 0.0


def stands(observations: Sequence[Observation]) -> bool:
    """Tell whether a vehicle has stood for the last second that it was seen."""
    if not observations:
        return False
    last = observations[-1]
    for one in reversed(observations):
        way, passed = _step(one, last)
        if passed >= STANDING_S:
            return way < STANDING_WIDTHS_S * min(passed, 2 * STANDING_S)
    return False


def _step(first: Observation, last: Observation) -> tuple[float, float]:
    """Return the way in plate widths and the time between two looks."""
    (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = first.plate.xyxy, last.plate.xyxy
    way = hypot(bx0 + bx1 - ax0 - ax1, by0 + by1 - ay0 - ay1) / 2
    return way * 2 / (ax1 - ax0 + bx1 - bx0), last.time_s - first.time_s


def _size(observation: Observation) -> float:
    x0, y0, x1, y1 = observation.plate.xyxy
    return float(((x1 - x0) * (y1 - y0)) ** 0.5)
