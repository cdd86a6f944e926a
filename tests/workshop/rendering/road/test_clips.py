"""Clips of a road that a vehicle passes."""

from pathlib import Path

import av
import numpy as np
import pytest

from workshop.rendering.country import russia
from workshop.rendering.road import clips
from workshop.rendering.road.clips import Course, draw_clip


@pytest.mark.parametrize(("front", "y"), [(True, 6.0), (False, 4.0)], ids=["comes", "goes"])
def test_a_vehicle_drives_from_one_end_to_the_other(front: bool, y: float) -> None:
    course = Course((0.0, 10.0), 4.0, front, 1.0, (8.0, 0.0))
    assert course.duration_s == 2.5
    assert course.place(1.0) == (pytest.approx(1.0, abs=clips.SWAY_M), y)


def read(file: Path) -> list[np.ndarray]:
    with av.open(str(file)) as clip:
        return [frame.to_ndarray(format="gray") for frame in clip.decode(video=0)]


def test_a_clip_shows_a_road_that_a_vehicle_passes(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(clips, "SIZE_WH", (480, 270))
    monkeypatch.setattr(clips, "RATES", (5.0,))
    monkeypatch.setattr(clips, "RATE_SHARES", (1.0,))
    draw_clip(tmp_path / "clip.mp4", russia(), seed=3)
    frames = read(tmp_path / "clip.mp4")
    changes = [np.abs(frame.astype(int) - frames[-1]).max(axis=0).max() for frame in frames]
    assert (len(frames) > 3, max(changes) > 60) == (True, True)
