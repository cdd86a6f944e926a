"""No operation, in any role of one group, reveals data of the other group."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from plate_cameras.control_room.operations import RoomRoute
from plate_cameras.control_room.rest.routes import rest_routes
from tests.plate_cameras.control_room.access.rooms import PASSWORD, HttpRoom
from tests.plate_cameras.control_room.rest.two_groups import (
    ALL,
    LISTED,
    ROLES,
    SECRETS,
    TEXT,
    act_in_zq7,
    fill,
    key_of,
    open_two_groups,
)

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
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpRoom]:
    """A room with both groups, for tests that change nothing of zq7."""
    with open_two_groups(tmp_path_factory.mktemp("room")) as new_room:
        fill(new_room, "zq7", TEXT, LISTED)
        act_in_zq7(new_room)
        yield new_room


def unknown(text: str) -> str:
    """Return a text in which unknown names and plates replace those of zq7."""
    return text.replace("zq7", "qz9").replace("B234", "X987").replace(LISTED, "X345EK77")


def paths_of(route: RoomRoute) -> list[str]:
    """Return the paths of all existing things in zq7, with values for each parameter.

    New operations are included automatically. With new parameters, they fail until `NAMES` has
    values.
    """
    texts = (TEXT, LISTED) if "{text}" in route.path else ("",)
    parameters = route.path.replace("{id}", "{name}")
    known_names = (names for start, names in NAMES.items() if route.path.startswith(start))
    names = next(known_names) if "{name}" in parameters else ("",)
    paths = {parameters.format(name=name, text=text) for name, text in product(names, texts)}
    query = route.operation.query if route.operation else None
    fields = [field.alias or name for name, field in query.model_fields.items()] if query else []
    queries = [f"?{name}={value}" for name in fields for value in QUERIES[name]]
    return [f"{path}{query}" for path in sorted(paths) for query in ("", *queries)]


def call(room: HttpRoom, route: RoomRoute, path: str, role: str, *, is_unknown: bool) -> Any:
    """Return status, headers and content of an answer."""
    change = unknown if is_unknown else str
    options: dict[str, Any] = {"headers": key_of(role) | {"X-Reason": "case 1"}}
    operation = route.operation
    if operation and operation.text_body:
        options["content"] = "text\nA123BC77\n"
        options["headers"] |= {"content-type": operation.text_body}
    elif operation and operation.body:
        options["json"] = json.loads(change(json.dumps(BODIES.get(route.path, {}))))
    answer = room.client.request(route.method, change(path), **options)
    headers = {
        name: EXPIRES.sub("", value)
        for name, value in answer.headers.items()
        if name not in OF_ONE_REQUEST
    }
    return answer.status_code, headers, to_text(answer.content)


def to_text(content: bytes) -> str:
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
    room: HttpRoom, route: RoomRoute, path: str, role: str
) -> None:
    of_zq7 = call(room, route, path, role, is_unknown=False)
    status, headers, content = call(room, route, path, role, is_unknown=True)
    if route.path == "/v1/audit":  # it has what the south has tried
        assert of_zq7[:1] == (status,)
        return
    assert not SECRETS.search(f"{headers} {content}")
    if status in (200, 201) and route.method == "PUT" and route.path in CREATING:
        assert of_zq7[0] == 409
        name = path.rpartition("/")[2]
        assert not SECRETS.search(of_zq7[2].replace(name, ""))
        deletion = room.client.delete(unknown(path), headers=key_of(role))
        assert deletion.status_code == 204
    else:
        assert (of_zq7[0], of_zq7[1], unknown(of_zq7[2])) == (status, headers, content)


def test_no_call_of_the_south_has_changed_anything_elsewhere(room: HttpRoom) -> None:
    """All operations are called between two reads by an administrator of all groups."""
    before = everything_of_zq7(room)
    for route in (route for route in ROUTES if route.path != EVENTS and route.method != "GET"):
        for path, role in product(paths_of(route), ROLES):
            call(room, route, path, role, is_unknown=False)
    assert everything_of_zq7(room) == before
    assert TEXT in str(before)


def everything_of_zq7(room: HttpRoom) -> list[tuple[str, int, str]]:
    paths = [path for route in ROUTES if route.method == "GET" for path in paths_of(route)]
    own_paths = [path for path in paths if "zq7" in path and EVENTS not in path]
    answers = [(path, room.client.get(path, headers=ALL)) for path in own_paths]
    return [(path, answer.status_code, to_text(answer.content)) for path, answer in answers]


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


def everything_of_the_south(room: HttpRoom) -> list[tuple[str, str, Any]]:
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
    room: HttpRoom, gate: str, pass_id: str, status: int
) -> None:
    headers = key_of("editor") | {"X-Reason": "courier"}
    path, body = f"/v1/gates/{gate}/openings", {"pass_id": pass_id}
    assert room.client.post(path, json=body, headers=headers).status_code == status
    assert room.store.commands.take([gate], "late") == [] or status == 202
    openings = room.client.get("/v1/gates/openings", headers={"X-API-Key": "zq7-key"}).text
    assert "courier" not in openings


def test_an_unused_list_belongs_to_the_groups_of_those_who_made_it(room: HttpRoom) -> None:
    body, administrator = {"note": "new"}, key_of("administrator")
    assert room.client.put("/v1/lists/fresh", json=body, headers=administrator).status_code == 200
    answer = room.client.put("/v1/lists/fresh/entries/A123BC77", json={}, headers=key_of("editor"))
    assert answer.status_code == 200
    lists = room.client.get("/v1/lists", headers=key_of("viewer")).json()["lists"]
    names = [plate_list["name"] for plate_list in lists]
    assert names == ["fresh", "south-cars", "south-gate-list"]
    other = room.client.get("/v1/lists/fresh/entries", headers={"X-API-Key": "zq7-key"})
    assert other.status_code == 404
    assert room.client.delete("/v1/lists/fresh", headers=administrator).status_code == 204


@pytest.mark.parametrize("role", ROLES)
def test_metrics_of_a_group_name_no_keys(room: HttpRoom, role: str) -> None:
    page = room.client.get("/metrics", headers=key_of(role)).text
    assert not SECRETS.search(page)
    assert not re.search("south|office", page)
    assert 'key="zq7-key"' in room.client.get("/metrics", headers=ALL).text
