"""No stream has data of another group, and each ends when the rights of its caller change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.serving.gateway.policy import api_keys
from plate_cameras.control_room import endpoint, extension
from plate_cameras.control_room.rest import streams
from plate_cameras.store.people.people import Person
from tests.plate_cameras.control_room.access.rooms import TESTER, HttpRoom, write_key_tables
from tests.plate_cameras.control_room.rest.two_groups import (
    LISTED,
    ROLES,
    SECRETS,
    TEXT,
    cameras_of,
    fill,
    key_of,
    open_two_groups,
    settings_of,
)
from tests.plate_cameras.control_room.streams import StreamedAnswer
from tests.plate_cameras.store.stored_events import make_event
from tests.waiting import until

EVENTS = "/v1/events"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let changed rights be noticed at once."""
    for module in (endpoint, streams):
        monkeypatch.setattr(module, "CHECK_S", 0.05)
    monkeypatch.setattr(api_keys, "LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr(extension, "RELOAD_EVERY_S", 0.05)


@pytest.mark.parametrize("role", ROLES)
def test_a_stream_has_no_event_of_another_group(tmp_path: Path, role: str) -> None:
    with open_two_groups(tmp_path) as room:
        fill(room, "zq7", TEXT, LISTED)
        stream = StreamedAnswer(room.client, f"{EVENTS}?after=0", key_of(role))
        until(lambda: b"south-1" in stream.content, "what was missed")
        began = len(stream.content)
        write(room, "zq7", TEXT)
        write(room, "south", "A123BC77")
        until(lambda: b"south-2" in stream.content, "an event of the south")
        stream.leave()
        assert not SECRETS.search(stream.content.decode())
        assert b"heartbeat" not in stream.content[began:]  # it would tell when zq7 has an event


def write(room: HttpRoom, group: str, text: str) -> None:
    room.store.configure(cameras_of(group))
    room.store.write([make_event(f"{group}-2", text, camera=f"{group}-gate")], [])


def write_key(folder: Path, role: str, group: str) -> None:
    write_key_tables(folder, **{"south-viewer": f'role = "{role}"\ngroups = ["{group}"]'})


def move_camera(folder: Path) -> None:
    cameras = settings_of("south", "zq7") + settings_of("zq7")
    (folder / "CAMERAS.toml").write_text(cameras)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda folder: write_key_tables(folder, office='role = "editor"'), id="no key"
        ),
        pytest.param(lambda folder: write_key(folder, "editor", "south"), id="another role"),
        pytest.param(lambda folder: write_key(folder, "viewer", "zq7"), id="another group"),
        pytest.param(move_camera, id="a camera of others"),
    ],
)
def test_a_stream_ends_when_the_rights_of_its_key_change(tmp_path: Path, change: Any) -> None:
    with open_two_groups(tmp_path) as room:
        stream = StreamedAnswer(room.client, EVENTS, key_of("viewer"))
        until(lambda: b"retry" in stream.content, "the beginning")
        change(tmp_path)
        until(lambda: stream.has_ended, "the end of the stream", within_s=20)


PERSON = Person("south-person", "viewer", ("south",))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "change",
    [
        {"is_disabled": True},
        {"groups": ("zq7",)},
        {"role": "editor"},
        {"password_hash": "other"},
        {"is_removed": True},
    ],
    ids=str,
)
def test_a_stream_ends_when_the_rights_of_its_person_change(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    with open_two_groups(tmp_path) as room:
        room.log_in(PERSON.name)
        cookie = "; ".join(f"{name}={value}" for name, value in room.client.cookies.items())
        stream = StreamedAnswer(room.client, EVENTS, {"cookie": cookie})
        until(lambda: b"retry" in stream.content, "the beginning")
        if change.pop("is_removed", False):
            room.store.people.remove(PERSON.name, TESTER)
        else:
            password = change.pop("password_hash", None)
            person = replace(PERSON, **change)
            room.store.people.change(person, TESTER, password_hash=password)
        until(lambda: stream.has_ended, "the end of the stream", within_s=20)
