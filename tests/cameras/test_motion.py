import numpy as np
import pytest

from orchestrator.cameras.configuration import Camera, Zone
from orchestrator.cameras.motion import HOLD_S, SIZE_WH, Luma, MotionGate

RNG = np.random.default_rng(3)
SCENE = RNG.integers(40, 200, (SIZE_WH[1], SIZE_WH[0])).astype(np.float32)
LEFT = Zone("left", ((0, 0), (0.5, 0), (0.5, 1), (0, 1)))


def make_luma(*, light: float = 0.0, car_x: int | None = None) -> Luma:
    """Return a noisy scene, brighter by `light`, with a dark car of 20x10 pixels."""
    picture = SCENE + light + RNG.normal(0, 3, SCENE.shape)
    if car_x is not None:
        picture[60:70, car_x : car_x + 20] = 10
    return picture.clip(0, 255).astype(np.uint8)


def rest(camera: Camera, seconds: float = 10.0) -> MotionGate:
    """Return a gate that has seen an empty scene."""
    gate = MotionGate(camera)
    for step in range(int(seconds * 2)):
        gate.update(make_luma(), step / 2 - seconds)
    return gate


def test_nothing_is_known_at_the_first_frame() -> None:
    assert MotionGate(Camera("gate", "")).update(make_luma(), 0.0)


def test_noise_leaves_the_gate_closed() -> None:
    gate = rest(Camera("gate", ""))
    assert not any(gate.update(make_luma(), step / 2) for step in range(40))


def test_a_car_opens_it_and_it_closes_after_the_car() -> None:
    gate = rest(Camera("gate", ""))
    assert gate.update(make_luma(car_x=100), 0.0)
    assert gate.update(make_luma(), HOLD_S)
    assert not gate.update(make_luma(), HOLD_S + 0.5)


def test_a_change_of_light_is_no_motion() -> None:
    gate = rest(Camera("gate", ""))
    assert not gate.update(make_luma(light=25), 0.0)


def test_a_car_that_has_stopped_becomes_background() -> None:
    gate = rest(Camera("gate", ""))
    states = [gate.update(make_luma(car_x=100), step / 2) for step in range(120)]
    assert states[0]
    assert not states[-1]


@pytest.mark.parametrize(
    ("camera", "car_x", "is_open"),
    [
        pytest.param(Camera("gate", "", masks=(LEFT,)), 30, False, id="inside-a-mask"),
        pytest.param(Camera("gate", "", masks=(LEFT,)), 150, True, id="outside-the-mask"),
        pytest.param(Camera("gate", "", zones=(LEFT,)), 150, True, id="zones-only-report"),
        pytest.param(
            Camera("gate", "", zones=(LEFT,), only_in_zones=True), 150, False, id="outside-zones"
        ),
        pytest.param(
            Camera("gate", "", zones=(LEFT,), only_in_zones=True), 30, True, id="inside-a-zone"
        ),
    ],
)
def test_masks_and_zones_limit_it(camera: Camera, car_x: int, is_open: bool) -> None:
    assert rest(camera).update(make_luma(car_x=car_x), 0.0) is is_open


def test_a_picture_that_is_masked_altogether_never_moves() -> None:
    whole = Zone("all", ((0, 0), (1, 0), (1, 1), (0, 1)))
    gate = rest(Camera("gate", "", masks=(whole,)))
    assert not gate.update(make_luma(car_x=100), 0.0)
