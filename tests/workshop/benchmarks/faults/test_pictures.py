"""Pictures that differ, each from all others."""

from workshop.benchmarks.faults.breaking import MARKER_SHAPE, draw_marker, is_marker
from workshop.benchmarks.faults.callers import (
    SIZE_WH,
    crop,
    cut,
    draw_scene,
)


def test_parts_of_a_scene_differ_and_have_one_size() -> None:
    larger = draw_scene(0).picture
    before = larger.copy()
    parts = [cut(larger, place) for place in range(3)]
    assert {part.shape for part in parts} == {(SIZE_WH[1], SIZE_WH[0], 3)}
    assert len({part.tobytes() for part in parts}) == 3
    assert (larger == before).all()


def test_crops_of_a_plate_differ_in_their_margins() -> None:
    tight, wider = (crop(draw_scene(0), margins) for margins in (0, 1))
    assert wider.shape[0] == tight.shape[0] + 2
    assert wider.shape[1] == tight.shape[1]


def test_only_the_marker_is_the_marker() -> None:
    other = draw_marker()
    other[0, 0, 0] ^= 1
    assert draw_marker().shape == MARKER_SHAPE
    assert is_marker(draw_marker())
    assert not is_marker(other)
    assert not is_marker(draw_marker()[:, :1])
