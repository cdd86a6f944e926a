"""People change their own passwords."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plate_cameras.control_room.access.logins import MAX_ATTEMPTS
from tests.plate_cameras.control_room.access.rooms import (
    ANNA,
    BORIS,
    OTHERS,
    PASSWORD,
    Room,
    open_room,
    open_with_keys,
)

PATH = "/v1/session/password"
NEW = "another long password"
CHANGE = {"old_password": PASSWORD, "password": NEW}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A room that can be reached from other machines."""
    with open_room(tmp_path, http=OTHERS) as opened:
        yield opened


def log_in(room: Room, name: str, password: str) -> int:
    """Return the status of a login that keeps the cookies of the client."""
    kept = dict(room.client.cookies)
    answer = room.client.post("/v1/session", json={"name": name, "password": password})
    room.client.cookies = kept
    return int(answer.status_code)


def test_a_viewer_changes_the_password_and_stays_logged_in(room: Room) -> None:
    csrf = room.log_in(BORIS.name)
    before = room.client.cookies["plates_session"]
    answer = room.client.put(PATH, json=CHANGE, headers=csrf)
    assert answer.status_code == 200, answer.text
    assert answer.json()["name"] == "boris"
    assert answer.json()["csrf"] != csrf["X-CSRF-Token"]
    assert room.client.cookies["plates_session"] != before
    assert room.client.get("/v1/session").json() == answer.json()
    assert log_in(room, "boris", PASSWORD) == 401
    assert log_in(room, "boris", NEW) == 200


def test_other_sessions_of_the_person_end_and_those_of_others_do_not(room: Room) -> None:
    room.log_in(BORIS.name)
    other = room.client.cookies["plates_session"]
    room.client.cookies.clear()
    room.log_in(ANNA.name)
    annas = room.client.cookies["plates_session"]
    room.client.cookies.clear()
    csrf = room.log_in(BORIS.name)
    assert room.client.put(PATH, json=CHANGE, headers=csrf).status_code == 200
    room.client.cookies.clear()
    asked = [
        room.client.get("/v1/session", headers={"cookie": f"plates_session={token}"}).status_code
        for token in (other, annas)
    ]
    assert asked == [401, 200]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        pytest.param(CHANGE | {"old_password": "wrong horse"}, 403, "login", id="wrong"),
        pytest.param(CHANGE | {"password": "short"}, 400, "parameter", id="short"),
        pytest.param(CHANGE | {"password": "boris and more"}, 400, "parameter", id="name"),
        pytest.param(CHANGE | {"password": PASSWORD}, 400, "parameter", id="same"),
        pytest.param({"password": NEW}, 400, "parameter", id="without the present one"),
    ],
)
def test_a_change_that_is_not_allowed_changes_nothing(
    room: Room, body: dict[str, str], status: int, reason: str
) -> None:
    csrf = room.log_in(BORIS.name)
    answer = room.client.put(PATH, json=body, headers=csrf)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert not [text for text in body.values() if text in answer.text]
    assert room.client.get("/v1/session").status_code == 200
    assert log_in(room, "boris", PASSWORD) == 200


def test_a_change_needs_the_token(room: Room) -> None:
    room.log_in(BORIS.name)
    answer = room.client.put(PATH, json=CHANGE)
    assert (answer.status_code, answer.json()["reason"]) == (403, "csrf")


def test_attempts_are_limited_like_those_of_a_login(room: Room) -> None:
    csrf = room.log_in(BORIS.name)
    wrong: dict[str, Any] = {"json": CHANGE | {"old_password": "wrong"}, "headers": csrf}
    statuses = [room.client.put(PATH, **wrong).status_code for _ in range(MAX_ATTEMPTS + 1)]
    assert statuses == [403] * MAX_ATTEMPTS + [429]


def test_a_key_has_no_password(tmp_path: Path) -> None:
    with open_with_keys(tmp_path) as room:
        answer = room.client.put(PATH, json=CHANGE, headers={"Authorization": "Bearer office"})
    assert (answer.status_code, answer.json()["reason"]) == (403, "role")


def test_the_change_is_in_the_audit(room: Room) -> None:
    csrf = room.log_in(ANNA.name)
    room.client.put(PATH, json=CHANGE, headers=csrf)
    found = room.client.get("/v1/audit").json()["searches"]
    assert [(one["who"], one["kind"]) for one in found][:2] == [
        ("anna", "log in"),
        ("anna", "change password"),
    ]
