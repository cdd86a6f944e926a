"""Messages of cameras on their way to a pass: the gateway, the database, and the watcher."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.errors import PictureError, ServerError
from orchestrator.plates import Plate, Plates
from plate_cameras.configuration import Camera
from plate_cameras.message_forms import MessageForm
from plate_cameras.passes import PassEvent
from plate_cameras.sources.decoders import Decoders
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing import pushed_pictures
from plate_cameras.store.writing.pushed_pictures import PushedPicture, TooManyWaiting
from plate_cameras.watching.camera_loop import CameraLoop
from plate_cameras.watching.camera_sources import Sources, make_tracker
from plate_cameras.watching.frame_recognizer import FrameRecognizer
from tests.plate_cameras.control_room.access.rooms import (
    TESTER,
    HttpRoom,
    open_room,
    write_key_tables,
)
from tests.plate_cameras.sources.sent.vendor_messages import VENDORS, form, hikvision, picture
from tests.plate_cameras.watching.fakes import ScriptedService, no_sleep

CAMERAS = "".join(
    f'[[cameras]]\nname = "{name}"\nurl = "push:{name.partition("-")[0]}"\ngroup = "north"\n'
    for name in VENDORS
)
CAMERAS += """
[[cameras]]
name = "own"
url = "push:other"
message = { plate = "plate" }
[[cameras]]
name = "stream"
url = "rtsp://10.0.0.5/stream1"
[[cameras]]
name = "south"
url = "push:axis"
group = "south"
"""
READ = (("A123BC77", 0.95),)
PLATES = Plates((Plate((40, 100, 140, 125), 0.9, "A123BC77", 0.95, candidates=READ),))
JPEG = picture()
AXIS, OTHER = (VENDORS["axis"](text, JPEG) for text in ("A123BC77", "B777BB77"))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[HttpRoom]:
    keys = write_key_tables(
        tmp_path,
        camera='role = "sender"\ngroups = ["north"]',
        desk='role = "viewer"',
        office='role = "administrator"',
        plain="",
    )
    with open_room(tmp_path, keys=keys, wants_keys=True, cameras=CAMERAS) as new_room:
        yield new_room


def send(
    room: HttpRoom, name: str, message: tuple[str, bytes], key: str = "camera"
) -> tuple[int, dict[str, str]]:
    """Send a message as cameras do, with user and password. Return status and answer."""
    kind, body = message
    answer = room.client.post(
        f"/v1/ingest/{name}", content=body, headers={"Content-Type": kind}, auth=("admin", key)
    )
    return answer.status_code, answer.json()


def read(room: HttpRoom, camera: Camera, *answers: object) -> list[PassEvent]:
    """Let a watcher read what waits of a camera, and write its passes."""
    events = asyncio.run(_read(room.store, camera, answers or (PLATES,)))
    room.store.write(events, [])
    return events


async def _read(store: PassStore, camera: Camera, answers: object) -> list[PassEvent]:
    events: list[PassEvent] = []

    async def receive(event: PassEvent) -> None:
        events.append(event)

    recognizer = FrameRecognizer(ScriptedService(*answers), 1, no_sleep)  # type: ignore
    stream = Sources(Decoders(), store).open(camera)
    loop = CameraLoop(camera, stream, make_tracker(camera), recognizer, receive)
    task = asyncio.ensure_future(loop.run())
    while (
        len(store.pushed_pictures.waiting(camera.name)) > len(loop.unfinished_pictures)
        and not task.done()
    ):
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    return events


def camera_of(name: str) -> Camera:
    return Camera(name, f"push:{name.partition('-')[0]}")


@pytest.mark.parametrize("name", VENDORS)
def test_a_vendors_message_becomes_one_pass_however_often_it_comes(
    room: HttpRoom, name: str
) -> None:
    message = VENDORS[name]("A123BC77", JPEG)
    assert send(room, name, message) == (200, {"result": "accepted"})
    assert send(room, name, message) == (200, {"result": "repeated"})
    read(room, camera_of(name))
    assert send(room, name, message) == (200, {"result": "repeated"})
    read(room, camera_of(name))

    [found_pass] = room.store.search(PassQuery(cameras=(name,)), TESTER).passes
    readings = room.store.get(found_pass.id, TESTER).readings
    assert (found_pass.text, found_pass.progress) == ("A123BC77", "closed")
    assert {reading.source: reading.text for reading in readings} == {
        "": "A123BC77",
        "camera": "A123BC77",
    }


def test_a_picture_waits_while_the_service_is_away(room: HttpRoom) -> None:
    send(room, "axis", AXIS)
    events = read(room, camera_of("axis"), ServerError("away"), ServerError("away"), PLATES)
    assert [event.kind for event in events] == ["agreed", "closed"]


def test_a_picture_of_a_watcher_that_was_killed_makes_its_pass_later(room: HttpRoom) -> None:
    async def read_and_die(camera: Camera) -> None:
        recognizer = FrameRecognizer(ScriptedService(PLATES), 1, no_sleep)  # type: ignore
        stream = Sources(Decoders(), room.store).open(camera)
        loop = CameraLoop(camera, stream, make_tracker(camera), recognizer, forget)
        await stream.wait_for_frame()
        await loop._look()  # its only reading agrees with nobody, so there is no event yet

    async def forget(_: PassEvent) -> None: ...

    send(room, "own", form(("shot", "image/jpeg", JPEG)), "office")
    camera = Camera("own", "push:other", message=MessageForm())
    asyncio.run(read_and_die(camera))
    assert [event.vehicle_pass.text for event in read(room, camera)] == ["A123BC77"]
    assert room.store.pushed_pictures.waiting("own") == []


def test_of_a_picture_that_the_service_refuses_the_cameras_reading_is_left(
    room: HttpRoom,
) -> None:
    send(room, "axis", AXIS)
    [event] = read(room, camera_of("axis"), PictureError("too many plates"))
    assert (event.vehicle_pass.text, event.vehicle_pass.best.pictures) == ("A123BC77", ())


def test_a_damaged_picture_is_left_out_and_others_are_read(room: HttpRoom) -> None:
    send(room, "axis", VENDORS["axis"]("B777BB77", b"\xff\xd8\xff" + b"damaged" * 1000))
    send(room, "axis", AXIS)
    assert {event.vehicle_pass.text for event in read(room, camera_of("axis"))} == {"A123BC77"}


def test_a_late_message_has_its_own_time_and_is_old_for_gates(room: HttpRoom) -> None:
    heartbeat = hikvision("", JPEG, event="heartBeat")
    assert send(room, "hikvision", heartbeat)[1] == {"result": "ignored"}
    hour_ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    send(room, "hikvision", hikvision("A123BC77", JPEG, time=hour_ago))
    vehicle_pass = read(room, camera_of("hikvision"))[-1].vehicle_pass
    assert time.time() - vehicle_pass.first_seen_s == pytest.approx(3600, abs=30)
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert vehicle_pass.last_moment_s is not None
    assert now_s - vehicle_pass.last_moment_s == pytest.approx(3600, abs=30)


@pytest.mark.parametrize(
    ("name", "key", "status", "detail"),
    [
        ("axis", "office", 200, ""),
        ("axis", "desk", 403, "wanted sender or administrator, got viewer"),
        ("axis", "plain", 403, "has no role"),
        ("axis", "unknown", 401, "the key is not known"),
        ("south", "camera", 404, "there is no camera 'south'"),
        ("none", "camera", 404, "there is no camera 'none'"),
        ("stream", "office", 409, "wanted one that sends by itself"),
    ],
)
def test_only_its_senders_send_for_a_camera(
    room: HttpRoom, name: str, key: str, status: int, detail: str
) -> None:
    answer_status, answer = send(room, name, AXIS, key)
    assert answer_status == status, answer
    assert detail in answer.get("detail", "")


def test_a_sender_sees_nothing_and_is_asked_for_user_and_password(room: HttpRoom) -> None:
    for path in ("/v1/passes", "/v1/cameras", "/v1/lists", "/v1/gates"):
        answer = room.client.get(path, headers={"X-API-Key": "camera"})
        assert answer.status_code == 403, path
    answer = room.client.post("/v1/ingest/axis", content=b"x")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic ")
    assert room.client.post("/v1/recognize").headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("name", "message", "detail"),
    [
        ("axis", ("application/json", b'{"plateASCII": "A123BC77"}'), "wanted a picture"),
        ("axis", ("application/json", b"{"), "wanted JSON"),
        ("hikvision", ("text/xml", b"<!DOCTYPE a><a/>"), "without a document type"),
        ("axis", ("", b""), "got nothing"),
    ],
)
def test_a_wrong_message_is_told(
    room: HttpRoom, name: str, message: tuple[str, bytes], detail: str
) -> None:
    status, answer = send(room, name, message)
    assert status == 400
    assert detail in answer["detail"]


@pytest.mark.parametrize(
    ("limit", "value", "detail", "is_of_all"),
    [
        (
            "MAX_WAITING",
            1,
            f"pictures of axis that are not read yet.*1 of {len(JPEG)} b",
            False,
        ),
        ("MAX_WAITING_BYTES", len(JPEG) + 1, "pictures of axis that are not read yet", False),
        ("MIN_FREE_BYTES", 10**18, f"{10**18} bytes free on the disk of the database", True),
    ],
)
def test_messages_that_nobody_reads_are_refused_at_last(
    room: HttpRoom,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
    detail: str,
    is_of_all: bool,
) -> None:
    assert send(room, "axis", AXIS)[0] == 200
    monkeypatch.setattr(pushed_pictures, limit, value)
    status, answer = send(room, "axis", OTHER)
    assert status == 503
    assert re.search(detail, answer["detail"])
    other = send(room, "milesight", VENDORS["milesight"]("B777BB77", JPEG))
    assert other[0] == (503 if is_of_all else 200)
    monkeypatch.undo()
    assert send(room, "axis", OTHER)[1] == {"result": "accepted"}


def test_all_cameras_share_a_limit_and_leave_room_for_each_other(
    room: HttpRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushed_pictures, "MAX_ALL_BYTES", max_bytes := 10 * len(JPEG))
    names = ["axis", "axis", "milesight", "south", "hikvision"]
    for name, number in itertools.product(names, range(10)):
        picture = PushedPicture(name, bytes([number]), JPEG, "", 0.0, 1e9, "wall")
        with suppress(TooManyWaiting):
            room.store.pushed_pictures.put(picture)
    assert all(room.store.pushed_pictures.waiting(name) for name in names)
    status, answer = send(room, "axis", OTHER)
    assert status == 503
    assert f"at most {max_bytes} bytes of all cameras, got" in answer["detail"]


def test_what_waits_is_deleted_with_its_plate(room: HttpRoom) -> None:
    send(room, "axis", AXIS)
    send(room, "axis", OTHER)
    room.store.delete_plate("A123BC77", TESTER)
    assert [picture.text for picture in room.store.pushed_pictures.waiting("axis")] == ["B777BB77"]
