"""No operation, in any role of one group, reveals data of the other group."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from orchestrator.serving.gateway.policy import api_keys
from plate_cameras.control_room import endpoint, extension
from plate_cameras.control_room.operations import RoomRoute
from plate_cameras.control_room.rest import streams
from plate_cameras.control_room.rest.routes import rest_routes
from plate_cameras.store.people.people import Person
from tests.plate_cameras.control_room.access.rooms import PASSWORD, TESTER, Room, write_keys
from tests.plate_cameras.control_room.rest.two_groups import (
    ALL,
    LISTED,
    ROLES,
    SECRETS,
    TEXT,
    act_in_zq7,
    cameras_of,
    fill,
    key_of,
    open_two_groups,
    settings_of,
)
from tests.plate_cameras.control_room.streams import OpenStream
from tests.plate_cameras.store.stored_events import make_event
from tests.waiting import until

ROUTES: tuple[RoomRoute, ...] = rest_routes(None)  # type: ignore[arg-type]  # nothing is called
EVENTS = "/v1/events"
NAMES = {
    "/v1/lists/": ("zq7-cars", "zq7-gate-list", "zq7-unused", "zq7-made"),
    "/v1/cameras/": ("zq7-gate",),
    "/v1/ingest/": ("zq7-gate",),
    "/v1/people/": ("zq7-person", "zq7-clara"),
    "/v1/passes/": ("zq7-1",),
    "/v1/gates/openings/": ("zq7-0",),
    "/v1/gates/": ("zq7-barrier",),
    "/v1/sites/": ("zq7-site",),
    "/v1/sinks/": ("zq7-sink",),
}
"""Names of existing things in zq7, by prefixes of paths."""
QUERIES = {
    "camera": ["zq7-gate"],
    "list": ["zq7-cars", "zq7-unused", "zq7-made"],
    "zone": ["zq7-zone"],
    "text": [TEXT, "B234*"],
    "part": ["B234"],
    "region": ["77"],
    "format": ["csv"],
    "by": ["camera"],
    "replace": ["true"],
    "neighbours": ["true"],
    "entries": ["true"],
    "overstays": ["true"],
    **dict.fromkeys(("reason", "limit", "cursor", "after", "from", "until"), ()),
    **dict.fromkeys(("edits", "direction", "offset_minutes"), ()),
    **dict.fromkeys(("accept_doubtful", "language", "time_zone"), ()),
}
"""Values for the query parameters that can name something."""
CREATING = {"/v1/lists/{name}", "/v1/people/{name}"}
"""Names are unique in the service: cameras name lists, and people log in by theirs. So a caller
that adds an existing name learns that it is taken, and nothing else."""
BODIES = {
    "/v1/people/{name}": {"role": "viewer", "groups": ["south"], "password": "long enough for all"},
    "/v1/gates/{name}/openings": {"pass_id": "zq7-1"},
    "/v1/session": {"name": "zq7-person", "password": "not the password"},
    "/v1/session/password": {"old_password": PASSWORD, "password": "long enough for all"},
}
OF_ONE_REQUEST = {"date", "x-request-id"}
EXPIRES = re.compile(r"expires=[^;]+")
"""The time in a cookie that is taken back: that of the request."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A room with both groups, for tests that change nothing of zq7."""
    with open_two_groups(tmp_path_factory.mktemp("room")) as opened:
        fill(opened, "zq7", TEXT, LISTED)
        act_in_zq7(opened)
        yield opened


def unknown(text: str) -> str:
    """Return a text in which unknown names and plates replace those of zq7."""
    replaced = text.replace("zq7", "qz9").replace("B234", "X987")
    return replaced.replace(LISTED, "X345EK77")


def paths_of(route: RoomRoute) -> list[str]:
    """Return the paths of all existing things in zq7, with values for each parameter.

    New operations are included automatically. With new parameters, they fail until `NAMES` has
    values.
    """
    texts = (TEXT, LISTED) if "{text}" in route.path else ("",)
    parameters = route.path.replace("{id}", "{name}")
    known = (one for start, one in NAMES.items() if route.path.startswith(start))
    names = next(known) if "{name}" in parameters else ("",)
    paths = {parameters.format(name=name, text=text) for name, text in product(names, texts)}
    query = route.described.query if route.described else None
    fields = [one.alias or name for name, one in query.model_fields.items()] if query else []
    queries = [f"?{name}={one}" for name in fields for one in QUERIES[name]]
    return [f"{path}{query}" for path in sorted(paths) for query in ("", *queries)]


def call(room: Room, route: RoomRoute, path: str, role: str, *, is_unknown: bool) -> Any:
    """Return status, headers and content of an answer."""
    change = unknown if is_unknown else str
    options: dict[str, Any] = {"headers": key_of(role) | {"X-Reason": "case 1"}}
    described = route.described
    if described and described.text_body:
        options["content"] = "text\nA123BC77\n"
        options["headers"] |= {"content-type": described.text_body}
    elif described and described.body:
        options["json"] = json.loads(change(json.dumps(BODIES.get(route.path, {}))))
    answer = room.client.request(route.method, change(path), **options)
    headers = {
        name: EXPIRES.sub("", value)
        for name, value in answer.headers.items()
        if name not in OF_ONE_REQUEST
    }
    return answer.status_code, headers, shown(answer.content)


def shown(content: bytes) -> str:
    """Return content as a text; an archive as its files."""
    if not content.startswith(b"PK"):
        return content.decode("latin-1")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return str({name: archive.read(name) for name in archive.namelist()})


OPERATIONS = [
    pytest.param(route, path, role, id=f"{route.method} {path} {role}")
    for route in ROUTES
    if route.path != EVENTS
    for path in paths_of(route)
    for role in ROLES
]


@pytest.mark.parametrize(("route", "path", "role"), OPERATIONS)
def test_what_is_not_theirs_is_answered_as_what_is_not_there(
    room: Room, route: RoomRoute, path: str, role: str
) -> None:
    known = call(room, route, path, role, is_unknown=False)
    status, headers, content = call(room, route, path, role, is_unknown=True)
    if route.path == "/v1/audit":  # it has what the south has tried
        assert known[:1] == (status,)
        return
    assert not SECRETS.search(f"{headers} {content}")
    if status in (200, 201) and route.method == "PUT" and route.path in CREATING:
        assert known[0] == 409
        taken = path.rpartition("/")[2]
        assert not SECRETS.search(known[2].replace(taken, ""))
        removed = room.client.delete(unknown(path), headers=key_of(role))
        assert removed.status_code == 204
    else:
        assert (known[0], known[1], unknown(known[2])) == (status, headers, content)


def test_no_call_of_the_south_has_changed_anything_elsewhere(room: Room) -> None:
    """All operations are called between two reads by an administrator of all groups."""
    before = everything_of_zq7(room)
    for route in (one for one in ROUTES if one.path != EVENTS and one.method != "GET"):
        for path, role in product(paths_of(route), ROLES):
            call(room, route, path, role, is_unknown=False)
    assert everything_of_zq7(room) == before
    assert TEXT in str(before)


def everything_of_zq7(room: Room) -> list[tuple[str, int, str]]:
    paths = [path for route in ROUTES if route.method == "GET" for path in paths_of(route)]
    read = [path for path in paths if "zq7" in path and EVENTS not in path]
    answers = [(path, room.client.get(path, headers=ALL)) for path in read]
    return [(path, one.status_code, shown(one.content)) for path, one in answers]


def test_answers_stay_the_same_whatever_the_other_group_has(tmp_path: Path) -> None:
    """Counts, cursors, sizes and orders of the south do not depend on zq7."""
    with open_two_groups(tmp_path) as room:
        before = everything_of_the_south(room)
        fill(room, "zq7", TEXT, LISTED)
        act_in_zq7(room)
        assert everything_of_the_south(room) == before
        assert "A123BC77" in str(before)
        audit = room.client.get("/v1/audit?limit=1000", headers=key_of("administrator"))
        assert "south" in audit.text
        assert not SECRETS.search(audit.text)


def everything_of_the_south(room: Room) -> list[tuple[str, str, Any]]:
    """Return the answers that all roles get, except the audit, which records these calls, too."""
    answers = []
    for route in ROUTES:
        if route.method == "GET" and route.path not in (EVENTS, "/v1/audit"):
            for path, role in product(paths_of(route), ROLES):
                own = path.replace("zq7", "south").replace(TEXT, "A123BC77")
                own = own.replace("B234", "A123").replace(LISTED, "H456OP99")
                answers.append((own, role, call(room, route, own, role, is_unknown=False)))
    return answers


@pytest.mark.parametrize(
    ("gate", "pass_id", "status"),
    [
        pytest.param("zq7-barrier", "", 404, id="the gate of others"),
        pytest.param("yard", "zq7-1", 404, id="a pass of others before a gate of both"),
        pytest.param("yard", "south-1", 202, id="an own pass before a gate of both"),
    ],
)
def test_a_guard_opens_for_own_cameras_alone(
    room: Room, gate: str, pass_id: str, status: int
) -> None:
    headers = key_of("editor") | {"X-Reason": "courier"}
    path, body = f"/v1/gates/{gate}/openings", {"pass_id": pass_id}
    assert room.client.post(path, json=body, headers=headers).status_code == status
    assert room.store.commands.take([gate], "late") == [] or status == 202
    seen = room.client.get("/v1/gates/openings", headers={"X-API-Key": "zq7-key"}).text
    assert "courier" not in seen


def test_an_unused_list_belongs_to_the_groups_of_those_who_made_it(room: Room) -> None:
    body, administrator = {"note": "new"}, key_of("administrator")
    assert room.client.put("/v1/lists/fresh", json=body, headers=administrator).status_code == 200
    put = room.client.put("/v1/lists/fresh/entries/A123BC77", json={}, headers=key_of("editor"))
    assert put.status_code == 200
    lists = room.client.get("/v1/lists", headers=key_of("viewer")).json()["lists"]
    assert [one["name"] for one in lists] == ["fresh", "south-cars", "south-gate-list"]
    other = room.client.get("/v1/lists/fresh/entries", headers={"X-API-Key": "zq7-key"})
    assert other.status_code == 404
    assert room.client.delete("/v1/lists/fresh", headers=administrator).status_code == 204


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
        stream = OpenStream(room.client, f"{EVENTS}?after=0", key_of(role))
        until(lambda: b"south-1" in stream.content, "what was missed")
        began = len(stream.content)
        write(room, "zq7", TEXT)
        write(room, "south", "A123BC77")
        until(lambda: b"south-2" in stream.content, "an event of the south")
        stream.leave()
        assert not SECRETS.search(stream.content.decode())
        assert b"heartbeat" not in stream.content[began:]  # it would tell when zq7 has an event


def write(room: Room, group: str, text: str) -> None:
    room.store.configure(cameras_of(group))
    room.store.write([make_event(f"{group}-2", text, camera=f"{group}-gate")], [])


def write_key(folder: Path, role: str, group: str) -> None:
    write_keys(folder, **{"south-viewer": f'role = "{role}"\ngroups = ["{group}"]'})


def move_camera(folder: Path) -> None:
    cameras = settings_of("south", "zq7") + settings_of("zq7")
    (folder / "CAMERAS.toml").write_text(cameras)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: write_keys(folder, office='role = "editor"'), id="no key"),
        pytest.param(lambda folder: write_key(folder, "editor", "south"), id="another role"),
        pytest.param(lambda folder: write_key(folder, "viewer", "zq7"), id="another group"),
        pytest.param(move_camera, id="a camera of others"),
    ],
)
def test_a_stream_ends_when_the_rights_of_its_key_change(tmp_path: Path, change: Any) -> None:
    with open_two_groups(tmp_path) as room:
        stream = OpenStream(room.client, EVENTS, key_of("viewer"))
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
        cookie = "; ".join(f"{name}={one}" for name, one in room.client.cookies.items())
        stream = OpenStream(room.client, EVENTS, {"cookie": cookie})
        until(lambda: b"retry" in stream.content, "the beginning")
        if change.pop("is_removed", False):
            room.store.people.remove(PERSON.name, TESTER)
        else:
            password = change.pop("password_hash", None)
            changed = replace(PERSON, **change)
            room.store.people.change(changed, TESTER, password_hash=password)
        until(lambda: stream.has_ended, "the end of the stream", within_s=20)


@pytest.mark.parametrize("role", ROLES)
def test_metrics_of_a_group_name_no_keys(room: Room, role: str) -> None:
    page = room.client.get("/metrics", headers=key_of(role)).text
    assert not SECRETS.search(page)
    assert not re.search("south|office", page)
    assert 'key="zq7-key"' in room.client.get("/metrics", headers=ALL).text
