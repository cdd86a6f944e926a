"""The curves of growth: pictures that grow in one thing alone, and slopes of their CPU time."""

from pathlib import Path

import pytest

from workshop.benchmarks import growth
from workshop.benchmarks.growth import BY_PLATES, BY_SIZE, Point, draw, fit_slope, prepare_pictures


def make_point(axis: str, x: float, cpu_ms: float, cores: int = 2) -> Point:
    return Point(cores, axis, x, 4, pictures_s=2e3 / cpu_ms, p50_ms=2 * cpu_ms, cpu_ms=cpu_ms)


def test_a_slope_is_that_of_its_own_axis() -> None:
    points = [make_point(BY_PLATES, x, 40 + 3 * x) for x in (0, 10, 100)]
    points += [make_point(BY_SIZE, x, 50 + 8 * x) for x in (0.3, 12, 48)]
    assert fit_slope(points, BY_PLATES) == pytest.approx(3)
    assert fit_slope(points, BY_SIZE) == pytest.approx(8)


def test_pictures_grow_in_one_thing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "PLATES", (0, 2))
    monkeypatch.setattr(growth, "WIDTHS", (640, 1280))
    pictures = list(prepare_pictures())
    assert [(axis, x) for axis, x, _ in pictures] == [
        (BY_PLATES, 0), (BY_PLATES, 2), (BY_SIZE, 0.3072), (BY_SIZE, 1.2288),
    ]  # fmt: skip
    assert [picture.bgr.shape for _, _, picture in pictures[1:]] == [
        (960, 1280, 3), (480, 640, 3), (960, 1280, 3),
    ]  # fmt: skip


def test_each_number_of_cores_is_a_curve(tmp_path: Path) -> None:
    axes = (BY_PLATES, BY_SIZE)
    points = [
        make_point(axis, x, 40 + x, cores) for cores in (1, 2) for axis in axes for x in (1, 9)
    ]
    draw(points, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 10_000
