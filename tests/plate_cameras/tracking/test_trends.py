"""Direction, speed and standing of vehicles, from boxes that a pinhole camera would give."""

from collections.abc import Sequence
from dataclasses import replace
from math import cos, exp, radians, sin

import numpy as np
import pytest

from plate_cameras.passes import Observation
from plate_cameras.tracking.trends import direction_of, speed_of, stands
from tests.plate_cameras.passing import observation, plate

SIZE_WH, FOCAL_PX, CAMERA_M = (1280, 720), 1100.0, 3.0
PLATE_M = (0.52, 0.112)
SEEDS = range(30)
FRAME = np.array(SIZE_WH * 2)


def drive(
    seed: int,
    heading: float,
    *,
    from_m: tuple[float, float],
    rate: float = 4.0,
    noise: float = 0.05,
    swing: float = 0.0,
) -> list[Observation]:
    """Return the plate of a vehicle in each frame that shows most of it.

    Args:
        seed: Seed of the speed, 2 to 14 m/s, and the noise.
        heading: 0 towards the camera, 90 to the right, 180 away; degrees.
        from_m: Starting point of the vehicle, metres to the right and ahead.
        rate: Frames a second.
        noise: Standard deviation of each side of a box, as a part of its size.
        swing: The same of the size of the whole box.
    """
    rng = np.random.default_rng(seed)
    step_m = rng.uniform(2, 14) / rate
    observations = []
    for number in range(100):
        x = from_m[0] + number * step_m * sin(radians(heading))
        ahead = from_m[1] - number * step_m * cos(radians(heading))
        box = _see(rng, x, ahead, noise, swing) if ahead > 3 else None
        if box is not None:
            observations.append(observation(number / rate, replace(plate((0, 0)), xyxy=box)))
    return observations


def _see(
    rng: np.random.Generator, x: float, ahead: float, noise: float, swing: float
) -> tuple[float, ...] | None:
    """Return the box of a plate, which the frame's edge may cut; None if it cuts most of it."""
    size = FOCAL_PX / ahead * np.array(PLATE_M)
    middle = np.array(SIZE_WH) / 2 + FOCAL_PX / ahead * np.array([x, CAMERA_M - ahead / 4])
    box_size = size * exp(rng.normal(0, swing))
    box = np.concatenate([middle - box_size / 2, middle + box_size / 2])
    box += rng.normal(0, noise, 4) * np.concatenate([size, size]) / 2**0.5
    box = box.clip(0, FRAME)
    is_visible = box[2] - box[0] > size[0] / 3 and box[3] - box[1] > size[1] / 2 and size[0] > 18
    return tuple(map(float, box)) if is_visible else None


def directions(passes: Sequence[Sequence[Observation]]) -> set[str]:
    return {direction_of(observations) for observations in passes}


@pytest.mark.parametrize("rate", [2.0, 10.0])
@pytest.mark.parametrize(("noise", "swing"), [(0.05, 0.0), (0.08, 0.0), (0.02, 0.05)])
@pytest.mark.parametrize("heading", [87.0, -90.0])
def test_a_vehicle_that_passes_sideways_has_no_direction(
    heading: float, noise: float, swing: float, rate: float
) -> None:
    start = -15.0 if heading > 0 else 15.0
    passes = [
        drive(seed, heading, from_m=(start, 8 + seed % 12), rate=rate, noise=noise, swing=swing)
        for seed in SEEDS
    ]
    assert directions(passes) == {""}


@pytest.mark.parametrize(("noise", "swing"), [(0.05, 0.0), (0.02, 0.05)])
def test_a_vehicle_that_passes_sideways_has_no_direction_at_any_look(
    noise: float, swing: float
) -> None:
    passes = [
        drive(seed, 90, from_m=(-15, 8 + seed % 12), noise=noise, swing=swing) for seed in SEEDS
    ]
    beginnings = [looks[:end] for looks in passes for end in range(2, min(14, len(looks)))]
    assert directions(beginnings) == {""}


@pytest.mark.parametrize("rate", [2.0, 4.0])
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize(
    ("heading", "ahead_m", "direction"), [(4.0, 25.0, "towards"), (176.0, 4.0, "away")]
)
def test_vehicles_that_come_or_go_have_their_direction(
    heading: float, ahead_m: float, direction: str, noise: float, rate: float
) -> None:
    passes = [
        drive(seed, heading, from_m=(seed % 9 - 4, ahead_m), rate=rate, noise=noise)
        for seed in SEEDS
    ]
    directions_ = [direction_of(looks) for looks in passes if len(looks) > 2]
    assert directions_.count(direction) >= 0.98 * len(directions_)
    assert {*directions_} <= {direction, ""}


def widths(*sizes: float) -> list[Observation]:
    return [observation(i / 4, plate((500, 100), width=size)) for i, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("observations", "direction"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param(widths(60), "", id="one look"),
        pytest.param(widths(60, 90), "towards", id="two looks"),
        pytest.param(widths(90, 60), "away", id="two looks, away"),
        pytest.param(widths(60, 80), "", id="two looks that differ little"),
        pytest.param(widths(60, 70, 80, 90), "towards", id="four looks"),
        pytest.param(widths(*[60] * 12, *[70] * 12), "", id="growth that noise could be"),
        pytest.param(widths(*[60] * 12, *[75] * 12), "towards", id="growth that stands out"),
        pytest.param(widths(*[60] * 8, 20, *[60] * 8, 200), "", id="single poor boxes"),
        pytest.param(widths(20, *[100] * 11), "", id="one poor box of three in a quarter"),
        pytest.param(widths(*[60] * 200, *[65] * 200), "", id="8 percent are too little"),
        pytest.param(widths(*[60] * 200, *[67] * 200), "towards", id="11 percent are enough"),
    ],
)
def test_directions_of_growing_plates(observations: list[Observation], direction: str) -> None:
    assert direction_of(observations) == direction


def stretch(observation_: Observation, factor: float) -> Observation:
    x0, y0, x1, y1 = observation_.plate.xyxy
    box = (x0, y0, x0 + (x1 - x0) * factor, y1)
    return replace(observation_, plate=replace(observation_.plate, xyxy=box))


def test_a_plate_that_only_becomes_wider_comes_out_of_the_frame_s_edge_or_turns() -> None:
    observations = [stretch(look, 0.3 + i / 10) for i, look in enumerate(widths(*[100] * 8))]
    assert direction_of(observations) == ""
    assert direction_of(observations[::-1]) == ""


def test_a_plate_that_becomes_wider_and_lower_has_no_direction() -> None:
    observations = [stretch(look, 1.0 + i) for i, look in enumerate(widths(*range(100, 20, -10)))]
    assert direction_of(observations) == direction_of(observations[::-1]) == ""


@pytest.mark.parametrize(("way_px", "direction"), [(1500, "towards"), (1900, "")])
def test_growth_counts_less_the_longer_the_way_to_the_side_is(
    way_px: float, direction: str
) -> None:
    ends = [plate((0, 100), width=80)] * 5, [plate((way_px, 100), width=120)] * 5
    observations = [observation(i / 4, plate_) for i, plate_ in enumerate([*ends[0], *ends[1]])]
    assert direction_of(observations) == direction


def places(*xs: float, step_s: float = 0.5) -> list[Observation]:
    return [observation(i * step_s, plate((x, 100))) for i, x in enumerate(xs)]


def test_speed_is_the_median_in_plate_widths_a_second() -> None:
    assert speed_of(places(0)) == 0
    assert speed_of(places(0, 50)) == pytest.approx(1)
    assert speed_of(places(0, 50, 100, 500)) == pytest.approx(1)
    assert speed_of(places(0, 50, step_s=0)) == 0
    assert speed_of([*places(0, 50), *places(50, 900)[:1]]) == pytest.approx(1)
    diagonal = [observation(i, plate((30 * i, 100 + 40 * i))) for i in range(3)]
    assert speed_of(diagonal) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("observations", "is_standing"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param(places(0, 0), False, id="for half a second"),
        pytest.param(places(0, 0, 0), True, id="for a second"),
        pytest.param(places(0, 10, 39), True, id="0.39 widths in a second"),
        pytest.param(places(0, 10, 40), False, id="0.4 widths in a second"),
        pytest.param(places(0, 500, 500, 500), True, id="it has come before"),
        pytest.param(places(500, 0, 79, step_s=2.0), True, id="0.79 widths in two seconds"),
        pytest.param(places(500, 0, 81, step_s=60.0), False, id="0.81 widths in a minute"),
    ],
)
def test_a_vehicle_stands_if_it_has_hardly_moved_for_a_second(
    observations: list[Observation], is_standing: bool
) -> None:
    assert stands(observations) == is_standing
