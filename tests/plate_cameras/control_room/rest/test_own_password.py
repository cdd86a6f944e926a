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
    HttpRoom,
    open_room,
    open_with_keys,
)

PATH = "/v1/session/password"
NEW = "another long password"
CHANGE = {"old_password": PASSWORD, "password": NEW}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[HttpRoom]:
    """A room that can be reached from other machines."""
    with open_room(tmp_path, http=OTHERS) as new_room:
        yield new_room


def logs_in(room: HttpRoom, password: str) -> bool:
    """Tell whether Boris can log in with a password. The client's cookies stay."""
    cookies = dict(room.client.cookies)
    answer = room.client.post("/v1/session", json={"name": "boris", "password": password})
    room.client.cookies = cookies
    return answer.status_code == 200


def asks(room: HttpRoom, token: str) -> int:
    headers = {"cookie": f"plates_session={token}"}
    return int(room.client.get("/v1/session", headers=headers).status_code)


def test_a_viewer_changes_the_password_and_ends_only_the_own_other_sessions(
    room: HttpRoom,
) -> None:
    tokens = []
    for name in (BORIS.name, ANNA.name, BORIS.name):
        room.client.cookies.clear()
        csrf = room.log_in(name)
        tokens.append(room.client.cookies["plates_session"])
    answer = room.client.put(PATH, json=CHANGE, headers=csrf)
    assert answer.status_code == 200, answer.text
    assert answer.json()["name"] == "boris"
    assert answer.json()["csrf"] != csrf["X-CSRF-Token"]
    assert room.client.get("/v1/session").json() == answer.json()
    now = room.client.cookies["plates_session"]
    room.client.cookies.clear()
    assert [asks(room, token) for token in (*tokens, now)] == [401, 200, 401, 200]
    assert (logs_in(room, PASSWORD), logs_in(room, NEW)) == (False, True)


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
    room: HttpRoom, body: dict[str, str], status: int, reason: str
) -> None:
    csrf = room.log_in(BORIS.name)
    answer = room.client.put(PATH, json=body, headers=csrf)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert not [text for text in body.values() if text in answer.text]
    without_token = room.client.put(PATH, json=CHANGE)
    assert (without_token.status_code, without_token.json()["reason"]) == (403, "csrf")
    assert room.client.get("/v1/session").status_code == 200
    assert logs_in(room, PASSWORD)


def test_attempts_are_limited_like_those_of_a_login(room: HttpRoom) -> None:
    csrf = room.log_in(BORIS.name)
    wrong: dict[str, Any] = {"json": CHANGE | {"old_password": "wrong"}, "headers": csrf}
    statuses = [room.client.put(PATH, **wrong).status_code for _ in range(MAX_ATTEMPTS + 1)]
    assert statuses == [403] * MAX_ATTEMPTS + [429]


def test_a_key_has_no_password(tmp_path: Path) -> None:
    with open_with_keys(tmp_path) as room:
        answer = room.client.put(PATH, json=CHANGE, headers={"Authorization": "Bearer office"})
    assert (answer.status_code, answer.json()["reason"]) == (403, "role")


def test_the_change_is_in_the_audit(room: HttpRoom) -> None:
    room.client.put(PATH, json=CHANGE, headers=room.log_in(ANNA.name))
    searches = room.client.get("/v1/audit").json()["searches"]
    kinds = [(entry["who"], entry["kind"]) for entry in searches]
    assert kinds[:2] == [("anna", "log in"), ("anna", "change password")]
