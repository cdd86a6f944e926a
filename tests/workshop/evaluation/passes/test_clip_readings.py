"""Readings of a clip are kept, and used as long as they are not older than it."""

from pathlib import Path

import av
import numpy as np

from orchestrator.plates import Plate, PlateCountry, PlateRegion, Plates
from workshop.evaluation.passes.clip_readings import read_clip

PLATES = Plates(
    (
        Plate(
            (10.0, 20.0, 90.0, 40.0),
            0.9,
            "A123BC77",
            0.8,
            candidates=(("A123BC77", 0.8), ("A123BC71", 0.1)),
            corners=((10.0, 20.0), (90.0, 20.0), (90.0, 40.0), (10.0, 40.0)),
            region=PlateRegion("77", "Moscow"),
            country=PlateCountry("ru", 0.75),
        ),
        Plate((10.0, 60.0, 90.0, 80.0)),
    )
)


def write_clip(file: Path) -> Path:
    with av.open(str(file), "w") as clip:
        stream = clip.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        for grey in (50, 100, 150):
            picture = np.full((120, 160, 3), grey, np.uint8)
            clip.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        clip.mux(stream.encode(None))
    return file


def test_kept_readings_are_those_of_the_first_run(tmp_path: Path) -> None:
    calls = []

    def recognize(picture: object) -> Plates:
        calls.append(picture)
        return PLATES

    clip = write_clip(tmp_path / "gate.mp4")
    first = read_clip(clip, recognize, 30.0, tmp_path)
    assert [reading.number for reading in first] == [0, 1, 2]
    assert {Plates(reading.plates) for reading in first} == {PLATES}
    assert read_clip(clip, recognize, 30.0, tmp_path) == first
    assert len(calls) == 3
