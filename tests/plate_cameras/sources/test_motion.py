"""Motion detection: changes that open the gate, and those that do not keep it open."""

from collections.abc import Callable

import numpy as np
import pytest

from plate_cameras.configuration import Camera, Zone
from plate_cameras.sources.motion import LUMA_WH, MotionGate, region_of_motion

STEP_S = 0.2
EVERYWHERE = np.ones(LUMA_WH[::-1], np.bool_)
LEFT = Zone("left", ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)))
Scene = Callable[[int], np.ndarray]


def scene(
    *, box_x: int | None = None, light: int = 0, noise: float = 0.0, seed: int = 0
) -> np.ndarray:
    """Return a road with a box of 30x20 pixels at x."""
    picture = np.full(LUMA_WH[::-1], 100.0 + light)
    picture[:, ::10] += 20
    if box_x is not None:
        picture[60:80, box_x : box_x + 30] = 220 + light
    if noise:
        picture += np.random.default_rng(seed).normal(0, noise, picture.shape)
    return picture.clip(0, 255).astype(np.uint8)


def play(gate: MotionGate, view: Scene, steps: range) -> list[bool]:
    """Show a scene to the gate, five pictures a second; return its state for each picture."""
    return [gate.update(view(step), step * STEP_S) for step in steps]


def test_a_scene_that_rests_never_opens_the_gate() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    assert not any(play(gate, lambda step: scene(noise=3, seed=step), range(100)))


def test_a_car_opens_the_gate_with_its_first_picture() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    play(gate, lambda step: scene(), range(5))
    assert gate.update(scene(box_x=0), 1.0)
    assert gate.share == pytest.approx(30 * 20 / (240 * 135), rel=0.05)


def test_the_gate_closes_some_seconds_after_the_car_has_left() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    states = play(gate, lambda step: scene(box_x=8 * step if step < 25 else None), range(60))
    assert states[24]
    assert states[25 + 10]  # two seconds later
    assert not any(states[25 + 22 :])


def test_a_car_that_stands_does_not_keep_the_gate_open_and_its_leaving_opens_it() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    play(gate, lambda step: scene(), range(5))
    standing = play(gate, lambda step: scene(box_x=min(8 * (step - 5), 100)), range(5, 120))
    assert any(standing)
    assert not any(standing[40:])
    assert any(play(gate, lambda step: scene(box_x=100 + 8 * (step - 120)), range(120, 125)))


@pytest.mark.parametrize("light", [40, -40])
def test_light_that_changes_everywhere_does_not_open_the_gate(light: int) -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    play(gate, lambda step: scene(), range(5))
    assert not any(play(gate, lambda step: scene(light=light), range(5, 20)))


def test_a_tree_that_moves_all_the_time_does_not_keep_the_gate_open_for_ever() -> None:
    def tree(step: int) -> np.ndarray:
        picture = scene()
        picture[10:40, 10:60] += np.random.default_rng(step).integers(0, 40, (30, 50), np.uint8)
        return picture

    states = play(MotionGate(0.002, EVERYWHERE), tree, range(400))
    assert any(states[:20])
    assert not any(states[300:])


def test_traffic_for_minutes_still_opens_the_gate() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    states = play(gate, lambda step: scene(box_x=(8 * step) % 200), range(600))
    assert all(states[1:])


def test_a_threshold_of_zero_keeps_the_gate_open() -> None:
    assert all(play(MotionGate(0, EVERYWHERE), lambda step: scene(), range(50)))


def test_time_that_steps_back_starts_anew() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    gate.update(scene(), 100.0)
    assert not gate.update(scene(box_x=50), 5.0)
    assert gate.update(scene(box_x=80), 5.2)


@pytest.mark.parametrize(
    ("camera", "box_x", "opens"),
    [
        pytest.param(Camera("a", "x", masks=(LEFT,)), 20, False, id="in the mask"),
        pytest.param(Camera("a", "x", masks=(LEFT,)), 180, True, id="beside the mask"),
        pytest.param(Camera("a", "x", zones=(LEFT,)), 180, True, id="zones alone limit nothing"),
        pytest.param(
            Camera("a", "x", zones=(LEFT,), only_in_zones=True), 180, False, id="outside the zone"
        ),
        pytest.param(
            Camera("a", "x", zones=(LEFT,), only_in_zones=True), 20, True, id="in the zone"
        ),
    ],
)
def test_motion_counts_only_where_the_camera_says(camera: Camera, box_x: int, opens: bool) -> None:
    gate = MotionGate(0.002, region_of_motion(camera))
    gate.update(scene(), 0.0)
    assert gate.update(scene(box_x=box_x), 0.2) is opens


def test_a_mask_covers_the_pixels_of_its_polygon() -> None:
    region = region_of_motion(Camera("a", "x", masks=(LEFT,)))
    assert not region[:, :120].any()
    assert region[:, 121:].all()


@pytest.mark.parametrize("direction", [1, -1])
def test_a_shadow_that_creeps_does_not_open_the_gate(direction: int) -> None:
    def shadow(step: int) -> np.ndarray:
        picture = scene().astype(np.int16)
        picture[:60, :100] += direction * (step // 6)  # less than a grey level a second
        return picture.astype(np.uint8)

    assert not any(play(MotionGate(0.002, EVERYWHERE), shadow, range(400)))


def test_a_car_that_creeps_keeps_the_gate_open() -> None:
    gate = MotionGate(0.002, EVERYWHERE)
    play(gate, lambda step: scene(), range(5))
    states = play(gate, lambda step: scene(box_x=20 + step // 3), range(5, 80))
    assert all(states)
