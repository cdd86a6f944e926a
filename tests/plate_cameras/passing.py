"""Plates with given boxes and readings, for the tests of passes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.plates import Plate, Plates
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame, Xyxy
from plate_cameras.passes import Observation, PassEvent
from plate_cameras.tracking.looks import Look, take_looks
from plate_cameras.tracking.pass_tracker import PassTracker

CAMERA = Camera("gate", "rtsp://camera")
SIZE_WH = (1000, 500)
HEIGHT = 20.0
"""Height of a plate that is 100 pixels wide."""


def plate(
    middle: tuple[float, float], text: str = "A123BC77", score: float = 0.9, *, width: float = 100
) -> Plate:
    """Return a plate round a point, with one reading; an empty text has none."""
    x, y = middle
    half = width * HEIGHT / 200
    return Plate(
        xyxy=(x - width / 2, y - half, x + width / 2, y + half),
        detection_score=0.9,
        text=text,
        text_score=score if text else 0.0,
        raw_text=text,
        candidates=((text, score),) if text else (),
    )


def frame(time_s: float, size_wh: tuple[int, int] = SIZE_WH) -> Frame:
    """Return a frame whose JPEG names its time."""
    return Frame("gate", round(time_s * 100), time_s, "file", f"{time_s:g}".encode(), size_wh)


def live_frame(moment_s: float, time_s: float) -> Frame:
    """Return a frame of a stream, with its steady time and its Unix time."""
    number = round(moment_s * 100)
    return Frame("gate", number, time_s, "wall", b"a picture", SIZE_WH, steady_s=moment_s)


def look(time_s: float, plate_: Plate, size_wh: tuple[int, int] = SIZE_WH) -> Look:
    """Return the look at the only plate in a frame of a clip."""
    return look_at(frame(time_s, size_wh), plate_)


def look_at(shot: Frame, plate_: Plate) -> Look:
    """Return the look at the only plate in a frame."""
    [only] = take_looks(CAMERA, shot, Plates((plate_,)), KnownSharpness())
    return only


def observation(time_s: float, plate_: Plate, sharpness: float = 1.0) -> Observation:
    return Observation(time_s, plate_, sharpness)


@dataclass
class KnownSharpness:
    """Pixels with a given sharpness for boxes by their left side; 1 for others.

    Attributes:
        by_left: Sharpness by left side, pixels.
        crops: Boxes that were cropped.
    """

    by_left: dict[float, float] = field(default_factory=dict)
    crops: list[Xyxy] = field(default_factory=list)

    def measure(self, frame: Frame, boxes: Sequence[Xyxy]) -> list[float]:
        del frame
        return [self.by_left.get(box[0], 1.0) for box in boxes]

    def crop(self, frame: Frame, box: Xyxy, others: Sequence[Xyxy]) -> bytes:
        del others
        self.crops.append(box)
        return b"crop of " + frame.jpeg


def new_tracker(camera: Camera = CAMERA, pixels: KnownSharpness | None = None) -> PassTracker:
    """Return a tracker that numbers the passes as their ids."""
    return PassTracker(
        camera, pixels=pixels or KnownSharpness(), new_id=lambda _, number: str(number)
    )


def follow(tracker: PassTracker, looks: Sequence[tuple[float, Sequence[Plate]]]) -> list[PassEvent]:
    """Update a tracker with the plates at each time, and close it; return all events."""
    events = list[PassEvent]()
    for time_s, plates in looks:
        events += tracker.update(frame(time_s), Plates((*plates,)))
    return events + tracker.close()


def kinds(events: Sequence[PassEvent]) -> list[tuple[str, str]]:
    """Return kind and text of each event."""
    return [(event.kind, event.vehicle_pass.text) for event in events]
