"""People over HTTP: rights to change others, and rejected requests."""

from __future__ import annotations

import pytest

from plate_cameras.store.people.people import Person
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.control_room.access.rooms import ANNA, BORIS, TESTER, HttpRoom

NEW = {"role": "editor", "groups": ["north"], "password": "long enough for all"}
BORIS_AS_JSON = {"name": "boris", "role": "viewer", "groups": ["north"], "is_disabled": False}
OFFICE = {"Authorization": "Bearer office"}
NORTH = {"Authorization": "Bearer north"}


def put(
    room: HttpRoom, name: str, body: object, headers: dict[str, str] = OFFICE
) -> tuple[int, str]:
    """Return the status, and the error's text if there is one."""
    answer = room.client.put(f"/v1/people/{name}", json=body, headers=headers)
    return answer.status_code, answer.json().get("detail", "")


def test_people_are_listed_without_hashes(unchanged_room: HttpRoom) -> None:
    answer = unchanged_room.client.get("/v1/people", headers=OFFICE)
    assert answer.headers["cache-control"] == "no-store"
    anna = {"name": "anna", "role": "administrator", "groups": [], "is_disabled": False}
    assert answer.json() == {"people": [anna, BORIS_AS_JSON], "cursor": ""}


def test_a_new_person_can_log_in(room: HttpRoom) -> None:
    answer = room.client.put("/v1/people/clara", json=NEW, headers=room.log_in())
    clara = {"name": "clara", "role": "editor", "groups": ["north"], "is_disabled": False}
    assert (answer.status_code, answer.json()) == (201, clara)
    room.log_in("clara", NEW["password"])
    assert room.client.get("/v1/session").json()["role"] == "editor"


def test_a_change_keeps_the_password_and_a_new_one_ends_sessions(room: HttpRoom) -> None:
    assert put(room, "boris", {"role": "editor"}) == (200, "")
    room.log_in("boris")
    assert room.client.get("/v1/session").json()["groups"] == []
    assert put(room, "boris", {"role": "viewer", "password": NEW["password"]}) == (200, "")
    assert room.client.get("/v1/session").status_code == 401
    room.log_in("boris", NEW["password"])


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_person_who_is_removed_or_disabled_is_out(room: HttpRoom, is_removed: bool) -> None:
    room.log_in("boris")
    if is_removed:
        answers = [room.client.delete("/v1/people/boris", headers=OFFICE) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [204, 404]
    else:
        assert put(room, "boris", {"role": "viewer", "is_disabled": True}) == (200, "")
    assert room.client.get("/v1/session").status_code == 401


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        pytest.param("clara", {"role": "viewer"}, "password: wanted one for a new", id="none"),
        pytest.param("clara", NEW | {"password": "short"}, "wanted 12 to 200 charac", id="short"),
        pytest.param(
            "clara", NEW | {"password": "my name is CLARA"}, "person's name", id="name in it"
        ),
        pytest.param("clara", NEW | {"role": "boss"}, "role: wanted 'viewer'", id="role"),
        pytest.param(
            "clara", NEW | {"rank": 1}, "rank: wanted no field of this name", id="unknown field"
        ),
        pytest.param("clara", NEW | {"groups": "north"}, "groups: wanted a list", id="no list"),
        pytest.param("Clara", NEW, "name: wanted 1 to 64 small Latin", id="capital letter"),
        pytest.param("local", NEW, "name: wanted 1 to 64 small Latin", id="reserved"),
    ],
)
def test_what_is_wrong_is_told(
    unchanged_room: HttpRoom, name: str, body: object, message: str
) -> None:
    status, detail = put(unchanged_room, name, body)
    assert (status, message in detail) == (400, True), detail


def test_the_last_administrator_stays(unchanged_room: HttpRoom) -> None:
    status, detail = put(unchanged_room, "anna", {"role": "administrator", "is_disabled": True})
    assert status == 409
    assert detail.startswith("anna is the last administrator of all cameras; make somebody else")
    assert unchanged_room.client.delete("/v1/people/anna", headers=OFFICE).status_code == 409
    assert unchanged_room.store.people.all(EVERYTHING) == [ANNA, BORIS]


def test_an_administrator_of_one_group_sees_and_changes_only_its_people(room: HttpRoom) -> None:
    assert room.client.get("/v1/people", headers=NORTH).json() == {
        "people": [BORIS_AS_JSON],
        "cursor": "",
    }
    assert put(room, "boris", {"role": "editor", "groups": ["north"]}, NORTH) == (200, "")
    # As for a name that is free. Only who adds a person learns that the name is taken.
    assert put(room, "anna", {"role": "viewer", "groups": ["north"]}, NORTH)[0] == 400
    assert put(room, "anna", NEW, NORTH) == (409, "there is a person 'anna' already")
    assert room.client.delete("/v1/people/anna", headers=NORTH).status_code == 404


@pytest.mark.parametrize("groups", [[], ["north", "south"]], ids=["all", "another"])
def test_nobody_gives_more_groups_than_their_own(room: HttpRoom, groups: list[str]) -> None:
    room.store.people.change(Person("boris", "administrator", ("north",)), TESTER)
    changes = room.log_in("boris")
    for_oneself = put(room, "boris", {"role": "administrator", "groups": groups}, changes)
    for_another = put(room, "clara", NEW | {"groups": groups}, changes)
    assert [for_oneself[0], for_another[0]] == [403, 403]
    assert for_another[1].startswith("groups: wanted some of yours, north")


@pytest.mark.parametrize("name", ["anna", "nobody"])
def test_an_editor_changes_nobody(unchanged_room: HttpRoom, name: str) -> None:
    editor = {"Authorization": "Bearer editor"}
    assert put(unchanged_room, name, NEW, editor)[0] == 403
    assert unchanged_room.client.delete(f"/v1/people/{name}", headers=editor).status_code == 403
