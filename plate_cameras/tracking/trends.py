"""Trends of a pass: direction, speed, and whether the vehicle stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import hypot, log, sqrt
from statistics import median

from plate_cameras.passes import Direction, Observation

Measure = Callable[[Observation], float]
DEVIATION = 1.4826
"""Standard deviation in median absolute deviations, of a normal distribution."""
MIN_GROWTH = 0.1
"""Smallest change of the logarithm of a plate's size that shows a direction: 10 %."""
MIN_NOISE = 0.1
"""Standard deviation of the logarithm of a box's width or height that is assumed at least. Boxes of
plates 20 pixels high are off by two now and then, and few looks do not show how much."""
NOISE_FACTOR = 2.4
"""Growth must be greater than its noise so many times, in width and in height. By chance, this
happens once in a thousand passes at most."""
MEDIAN_FACTOR = 1.25
"""A median has this noise, in that of a mean."""
SIDEWAYS_GROWTH = 0.025
"""Smallest growth for each plate width of way to the side. A car in the next lane but one grows by
0.1 for each; one that crosses the view at 60 degrees, by 0.02."""
STANDING_WIDTHS_S = 0.4
"""Speed below which a vehicle stands, in plate widths a second: 0.2 m/s."""
STANDING_S = 1.0
"""Time for which a vehicle has stood, so that it counts as standing."""


def direction_of(observations: Sequence[Observation]) -> Direction:
    """Return the direction in which a plate's size changes.

    The medians of the first and of the last quarter are compared, so a single poor box has no
    effect.
    Width and height must both change: the frame's edge and a turn of the vehicle change the width
    alone. The change must stand out of the noise of the boxes, and of the way to the side.
    """
    if len(observations) < 2:
        return ""
    growths = [_growth(observations, side) for side in (_log_width, _log_height)]
    growth = min(growths, key=abs)
    min_growth = max(MIN_GROWTH, SIDEWAYS_GROWTH * _way_aside(observations), _noise(observations))
    if abs(growth) < min_growth or min(growths) < 0 < max(growths):
        return ""
    return "towards" if growth > 0 else "away"


def _growth(observations: Sequence[Observation], side: Measure) -> float:
    part = max(1, len(observations) // 4)
    first, last = observations[:part], observations[-part:]
    return median(map(side, last)) - median(map(side, first))


def _noise(observations: Sequence[Observation]) -> float:
    """Return the growth that the noise of boxes alone may show.

    The noise is measured by the steps from look to look, without their usual growth.
    """
    part = max(1, len(observations) // 4)
    noises = [MIN_NOISE]
    for side in (_log_width, _log_height):
        steps = [side(after) - side(before) for before, after in pairwise(observations)]
        usual = median(steps)
        noises.append(DEVIATION * median(abs(step - usual) for step in steps) / sqrt(2))
    factor = 1.0 if part < 3 else MEDIAN_FACTOR
    return NOISE_FACTOR * factor * max(noises) * sqrt(2 / part)


def _way_aside(observations: Sequence[Observation]) -> float:
    """Return the way to the left or right, in plate widths."""
    (ax0, _, ax1, _), (bx0, _, bx1, _) = (
        observations[at].plate.xyxy for at in (0, -1)
    )  # fmt: skip
    return abs(bx0 + bx1 - ax0 - ax1) / (ax1 - ax0 + bx1 - bx0)


def speed_of(observations: Sequence[Observation]) -> float:
    """Return the median speed from look to look, in plate widths a second; 0 for one look."""
    steps = (_step(*pair) for pair in pairwise(observations))
    speeds = [way / elapsed_s for way, elapsed_s in steps if elapsed_s > 0]
    return median(speeds) if speeds else 0.0


def stands(observations: Sequence[Observation]) -> bool:
    """Tell whether a vehicle has stood for the last second that it was seen."""
    if not observations:
        return False
    last = observations[-1]
    for observation in reversed(observations):
        way, elapsed_s = _step(observation, last)
        if elapsed_s >= STANDING_S:
            return way < STANDING_WIDTHS_S * min(elapsed_s, 2 * STANDING_S)
    return False


def _step(first: Observation, last: Observation) -> tuple[float, float]:
    """Return the way in plate widths and the time between two looks."""
    (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = first.plate.xyxy, last.plate.xyxy
    way = hypot(bx0 + bx1 - ax0 - ax1, by0 + by1 - ay0 - ay1) / 2
    return way * 2 / (ax1 - ax0 + bx1 - bx0), last.time_s - first.time_s


def _log_width(observation: Observation) -> float:
    x0, _, x1, _ = observation.plate.xyxy
    return log(x1 - x0)


def _log_height(observation: Observation) -> float:
    _, y0, _, y1 = observation.plate.xyxy
    return log(y1 - y0)
