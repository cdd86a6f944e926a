"""Frames, passes and events with given values, for tests of cameras."""

from typing import Literal

from orchestrator.plates import Plate
from plate_cameras.frames import Frame
from plate_cameras.passes import BestFrame, Observation, Pass, PassEvent


def make_frame(camera: str = "gate", number: int = 0, time_s: float = 0.0) -> Frame:
    return Frame(camera, number, time_s, "wall", b"a picture", (1280, 720))


def make_event(
    kind: Literal["agreed", "updated", "closed"] = "closed",
    *,
    camera: str = "gate",
    text: str = "A123BC77",
    id_: str = "pass-1",
) -> PassEvent:
    """Return an event of a pass of one frame."""
    plate = Plate((100, 200, 180, 220), 0.9, text, 0.97, format="ru_car")
    observation = Observation(1_800_000_000.0, plate, sharpness=0.5, weight=1.0)
    vehicle_pass = Pass(
        id=id_,
        camera=camera,
        progress="closed" if kind == "closed" else "agreed",
        first_seen_s=1_800_000_000.0,
        last_seen_s=1_800_000_001.5,
        clock="wall",
        text=text,
        text_score=0.97,
        format="ru_car",
        candidates=((text, 0.97),),
        direction="towards",
        crossings=(),
        speed_widths_s=2.0,
        zones=("entry",),
        observations=(observation,),
        best=BestFrame(observation, (1280, 720), b"a crop", b"a frame"),
    )
    return PassEvent(kind, vehicle_pass)
