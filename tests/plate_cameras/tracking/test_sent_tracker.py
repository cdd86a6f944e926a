"""Passes of pictures that cameras send."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.plates import Plate, Plates
from plate_cameras.configuration import Camera, Zone
from plate_cameras.frames import Frame, Upload
from plate_cameras.gates.conditions import is_settled
from plate_cameras.passes import PassEvent
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.tracking.sent_tracker import SentTracker
from plate_cameras.watching.camera_sources import make_tracker
from tests.plate_cameras.passing import KnownSharpness, kinds, live_frame, plate

CAMERA = Camera("gate", "push:hikvision")
LEFT, RIGHT = (0.2 * 1000, 0.6 * 500), (0.8 * 1000, 0.6 * 500)


async def finish() -> None: ...


def upload(at_s: float, text: str = "", score: float = 0.9, digest: bytes = b"") -> Frame:
    """Return a picture of a time, with the camera's own reading."""
    frame, name = live_frame(at_s, 1e9 + at_s), f"{at_s:g}".encode()
    return replace(frame, jpeg=name, upload=Upload(digest or name, finish, finish, text, score))


def tracker(camera: Camera = CAMERA) -> SentTracker:
    return SentTracker(camera, pixels=KnownSharpness())  # type: ignore[arg-type]


def passes(*pictures: tuple[Frame, tuple[Plate, ...]], camera: Camera = CAMERA) -> list[PassEvent]:
    """Return the events of some pictures and of their end."""
    follower = tracker(camera)
    events = list[PassEvent]()
    for frame, plates in pictures:
        events += follower.update(frame, Plates(plates))
    return events + follower.close()


def test_one_picture_is_a_pass_and_two_readings_agree() -> None:
    events = passes((upload(0, "A123BC77"), (plate(LEFT, score=0.95),)))
    assert kinds(events) == [("agreed", "A123BC77"), ("closed", "A123BC77")]
    assert is_settled(events[0].vehicle_pass, 0.9)
    assert [reading.source for reading in events[0].vehicle_pass.observations] == ["", "camera"]


def test_our_reading_alone_is_a_pass_that_opens_no_gate() -> None:
    events = passes((upload(0), (plate(LEFT, score=0.95),)))
    assert kinds(events) == [("closed", "A123BC77")]
    assert not is_settled(events[0].vehicle_pass, 0.0)


@pytest.mark.parametrize(
    ("ours", "camera_score", "text"),
    [(0.97, 0.8, "A123BC77"), (0.5, 0.9, "A123BC78")],
)
def test_the_surer_reading_decides(ours: float, camera_score: float, text: str) -> None:
    plate_ = plate(LEFT, "A123BC77", ours)
    [event] = passes((upload(0, "A123BC78", camera_score), (plate_,)))
    assert event.vehicle_pass.text in (text, "")
    assert event.vehicle_pass.candidates[0][0] == text
    assert {reading.plate.text for reading in event.vehicle_pass.observations} == {
        "A123BC77",
        "A123BC78",
    }


def test_a_plate_that_only_the_camera_has_read_keeps_no_picture() -> None:
    [event] = passes((upload(0, "A123BC77"), ()))
    assert event.vehicle_pass.text == "A123BC77"
    assert event.vehicle_pass.zones == ()
    assert event.vehicle_pass.best.pictures == ()


def test_the_vehicle_is_the_one_that_the_camera_has_read() -> None:
    parked_plate, passing_plate = plate(LEFT, "M456OP199", width=200), plate(RIGHT, "A123BC77")
    [event] = passes((upload(0, "A123BC71", 0.5), (parked_plate, passing_plate)))
    assert event.vehicle_pass.best.observation.plate == passing_plate
    assert len(passes((upload(0), (parked_plate, passing_plate)))) == 2


def test_pictures_with_the_same_text_are_one_vehicle_whatever_their_order() -> None:
    plates = (plate(LEFT),)
    events = passes((upload(5, "A123BC77"), plates), (upload(2), plates), (upload(7), plates))
    assert kinds(events) == [("agreed", "A123BC77"), ("closed", "A123BC77")]
    vehicle_pass = events[-1].vehicle_pass
    assert [round(reading.time_s - 1e9) for reading in vehicle_pass.observations] == [2, 5, 5, 7]


def test_a_late_picture_is_a_pass_of_its_time() -> None:
    plates = (plate(LEFT, score=0.95),)
    events = passes((upload(7200, "A123BC77"), plates), (upload(0, "A123BC77"), plates))
    vehicle_passes = [event.vehicle_pass for event in events if event.kind == "closed"]
    assert sorted(round(vehicle_pass.first_seen_s - 1e9) for vehicle_pass in vehicle_passes) == [
        0,
        7200,
    ]
    moments = {vehicle_pass.last_moment_s for vehicle_pass in vehicle_passes}
    assert moments == {0, 7200}  # gates tell the age by it


def test_a_pass_ends_when_no_more_pictures_come() -> None:
    follower = tracker()
    follower.update(upload(7200, "A123BC77"), Plates((plate(LEFT),)))
    follower.update(upload(0, "M456OP199"), Plates((plate(LEFT, "M456OP199"),)))
    assert follower.advance(7205) == []
    assert {event.kind for event in follower.advance(7211)} == {"closed"}
    assert follower.open_passes == 0


def test_a_message_of_a_camera_makes_the_same_pass_whenever_it_is_read() -> None:
    def id_of(digest: bytes, camera: Camera = CAMERA) -> str:
        picture = (upload(0, "A123BC77", digest=digest), (plate(LEFT),))
        return passes(picture, camera=camera)[-1].vehicle_pass.id

    first = id_of(b"a digest of a message")
    assert id_of(b"a digest of a message") == first
    assert id_of(b"another digest of a message") != first
    assert id_of(b"a digest of a message", replace(CAMERA, name="yard")) != first


def test_a_copy_of_a_picture_is_no_second_look() -> None:
    first, copy = upload(0, digest=b"a.jpg"), upload(2, digest=b"copy of a.jpg")
    plates = (plate(LEFT, score=0.95),)
    events = passes((first, plates), (replace(copy, jpeg=first.jpeg), plates))
    assert kinds(events) == [("closed", "A123BC77")]
    assert not is_settled(events[0].vehicle_pass, 0.0)


def test_what_cameras_alone_say_opens_no_gate() -> None:
    """However often it sends, it agrees with nobody."""
    [event] = passes(*((upload(at, "A123BC77"), ()) for at in range(5)))
    assert kinds([event]) == [("closed", "A123BC77")]
    assert not is_settled(replace(event.vehicle_pass, progress="agreed"), 0.0)


AREA = Zone("drive", ((0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)))


@pytest.mark.parametrize(
    ("area", "middle", "count"),
    [
        pytest.param({"zones": (AREA,), "only_in_zones": True}, LEFT, 0, id="outside"),
        pytest.param({"zones": (AREA,), "only_in_zones": True}, RIGHT, 1, id="inside"),
        pytest.param({"zones": (AREA,), "only_in_zones": True}, None, 0, id="nowhere"),
        pytest.param({"masks": (AREA,)}, RIGHT, 0, id="masked"),
        pytest.param({"masks": (AREA,)}, None, 1, id="nowhere with masks"),
    ],
)
def test_zones_and_masks_count_as_for_streams(
    area: dict[str, object], middle: tuple[float, float] | None, count: int
) -> None:
    camera = replace(CAMERA, **area)  # type: ignore[arg-type]
    plates = (plate(middle),) if middle else ()
    events = passes((upload(0, "A123BC77"), plates), camera=camera)
    assert sum(event.kind == "closed" for event in events) == count


def test_cameras_that_send_have_this_tracker_and_others_have_not() -> None:
    assert type(make_tracker(replace(CAMERA, url="folder:/srv/ftp"))) is SentTracker
    assert type(make_tracker(replace(CAMERA, url="rtsp://10.0.0.5"))) is PassTracker
