"""Vehicles that drive past a camera: their courses over time, as scenarios of a road.

Coordinates are those of `workshop.rendering.road.viewpoints`: x to the right and y away from the
camera, in metres. Courses that come towards the camera lead to smaller y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workshop.rendering.road.surroundings import LANE_M

STEP_S = 0.04
"""Time between the points of a course."""
MAX_DURATION_S = 60.0
"""Longest time of a vehicle in the picture."""
RAMP_M_S2 = 3.0
"""Acceleration of vehicles that stop and start."""
SPEEDS_M_S = (2.0, 15.0)
"""Smallest and greatest speed of a vehicle: at a barrier, and in a street at 54 km/h."""
CAR_GAP_M = 7.5
"""Smallest distance between the faces of two vehicles in a lane."""

Track = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    """Way of one vehicle over time.

    Attributes:
        times_s: (N,) increasing.
        places: (N, 2) x and y of the middle of its face, metres.
        front: True if the camera sees its front.
    """

    times_s: Track = field(repr=False)
    places: Track = field(repr=False)
    front: bool

    def place(self, time_s: float) -> tuple[float, float] | None:
        """Return x and y at a time; None before its start and after its end."""
        if not self.times_s[0] <= time_s <= self.times_s[-1]:
            return None
        x, y = (float(np.interp(time_s, self.times_s, side)) for side in self.places.T)
        return x, y

    def mean_speed(self, first_s: float, last_s: float) -> float:
        """Return the mean speed between two times, m/s; 0 for no time."""
        times = np.linspace(first_s, last_s, 1 + max(1, round((last_s - first_s) / STEP_S)))
        ways = np.diff([np.interp(times, self.times_s, side) for side in self.places.T])
        return float(np.hypot(*ways).sum() / (last_s - first_s)) if last_s > first_s else 0.0

    def shift(self, by_s: float) -> Course:
        """Return the same course at another time."""
        return Course(self.times_s + by_s, self.places, self.front)


@dataclass(frozen=True)
class Road:
    """The part of a road that a camera sees.

    Attributes:
        near_m: y of the nearest place of a plate that is in the picture.
        far_m: y of the farthest place at which a plate can be read.
        lanes: Lanes in which plates can be read, as multiples of the lane's width.
    """

    near_m: float
    far_m: float
    lanes: tuple[int, ...]


Scenario = Callable[[np.random.Generator, Road], list[Course]]


def cross(rng: np.random.Generator, road: Road) -> list[Course]:
    """One vehicle drives through the picture at a constant speed."""
    return [_drive(rng, road, _speed(rng), front=_is_front(rng))]


def two_lanes(rng: np.random.Generator, road: Road) -> list[Course]:
    """Two vehicles drive in two lanes, in the same direction or in opposite ones."""
    first, second = _is_front(rng), _is_front(rng)
    lanes = _choose_two_lanes(rng, road)
    first_course = _drive(rng, road, _speed(rng), front=first, lane=lanes[0])
    second_course = _drive(rng, road, _speed(rng), front=second, lane=lanes[1])
    return [first_course, second_course.shift(float(rng.uniform(0, 1.5)))]


def overtake(rng: np.random.Generator, road: Road) -> list[Course]:
    """A quick vehicle overtakes a slow one in the next lane, in the middle of the picture."""
    front, slow = _is_front(rng), float(rng.uniform(3, 7))
    lanes = _choose_two_lanes(rng, road)
    first_course = _drive(rng, road, slow, front=front, lane=lanes[0])
    second_course = _drive(
        rng, road, slow * float(rng.uniform(1.4, 2.2)), front=front, lane=lanes[1]
    )
    half = [
        (course.times_s[-1] - course.times_s[0]) / 2 for course in (first_course, second_course)
    ]
    return [first_course, second_course.shift(half[0] - half[1])]


def stop(rng: np.random.Generator, road: Road) -> list[Course]:
    """A vehicle stops in the picture for some seconds, and drives on."""
    stop_at = (float(rng.uniform(0.3, 0.7)), float(rng.uniform(2, 7)))
    return [_drive(rng, road, _speed(rng, most=8), front=_is_front(rng), stop_at=stop_at)]


def tailgate(rng: np.random.Generator, road: Road) -> list[Course]:
    """Two to four vehicles follow each other closely in a lane."""
    speed, front = _speed(rng), _is_front(rng)
    gap_s = max(CAR_GAP_M / speed, float(rng.uniform(0.6, 1.2)))
    lane = int(rng.choice(road.lanes))
    count = int(rng.integers(2, 5))
    drive = [_drive(rng, road, speed, front=front, lane=lane) for _ in range(count)]
    return [course.shift(gap_s * index) for index, course in enumerate(drive)]


def pass_a_parked(rng: np.random.Generator, road: Road) -> list[Course]:
    """A vehicle is parked in the picture while two others pass in the next lane."""
    lanes = _choose_two_lanes(rng, road)
    y = road.near_m + float(rng.uniform(0.3, 0.6)) * (road.far_m - road.near_m)
    moving_courses = [
        _drive(rng, road, _speed(rng), front=_is_front(rng), lane=lanes[1]).shift(start)
        for start in (0.5, float(rng.uniform(4, 8)))
    ]
    end = max(course.times_s[-1] for course in moving_courses)
    parked_course = Course(
        np.array([0.0, end]), np.full((2, 2), [LANE_M * lanes[0], y]), _is_front(rng)
    )
    return [parked_course, *moving_courses]


SCENARIOS: dict[str, Scenario] = {
    "crossing": cross,
    "two lanes": two_lanes,
    "overtaking": overtake,
    "stopping": stop,
    "tailgating": tailgate,
    "parked": pass_a_parked,
}


def _is_front(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.5)


def _speed(rng: np.random.Generator, most: float = SPEEDS_M_S[1]) -> float:
    return float(np.exp(rng.uniform(*np.log([SPEEDS_M_S[0], most]))))


def _choose_two_lanes(rng: np.random.Generator, road: Road) -> Sequence[int]:
    """Draw two lanes beside each other in a random order; the only lane comes with its left one."""
    left = int(rng.choice(road.lanes[:-1])) if len(road.lanes) > 1 else road.lanes[0] - 1
    return [int(lane) for lane in rng.permutation([left, left + 1])]


def _drive(
    rng: np.random.Generator,
    road: Road,
    speed: float,
    *,
    front: bool,
    lane: int | None = None,
    stop_at: tuple[float, float] | None = None,
) -> Course:
    """Return the course of a vehicle through the whole picture, with some sway in its lane."""
    lane = int(rng.choice(road.lanes)) if lane is None else lane
    start, end = road.near_m - 5, road.far_m + 6
    way = _way(end - start, speed, stop_at)
    y = end - way if front else start + way
    times = np.arange(len(way)) * STEP_S
    sway = 0.12 * np.sin(way / float(rng.uniform(8, 20)) + rng.uniform(0, 6))
    x = LANE_M * lane + float(rng.normal(0, 0.25)) + sway
    return Course(times, np.stack([x, y], axis=1), front)


def _way(length: float, speed: float, stop_at: tuple[float, float] | None) -> Track:
    """Return the metres driven at each step.

    Args:
        length: Length of the way, metres.
        speed: Greatest speed, m/s.
        stop_at: Place of a stop, as a part of the way, and its time in seconds; None for no stop.
    """
    if stop_at is None:
        return np.arange(0, length, speed * STEP_S)
    part, stand_s = stop_at
    place, way, driven = part * length, [0.0], 0.0
    while driven < place - 0.05:
        brakes = np.sqrt(2 * RAMP_M_S2 * (place - driven))
        driven += min(speed, max(0.3, float(brakes))) * STEP_S
        way.append(driven)
    way += [driven] * round(stand_s / STEP_S)
    while driven < length:
        starts = np.sqrt(2 * RAMP_M_S2 * max(0.0, driven - place)) + 0.4
        driven += min(speed, float(starts)) * STEP_S
        way.append(driven)
    return np.array(way[: round(MAX_DURATION_S / STEP_S)])
