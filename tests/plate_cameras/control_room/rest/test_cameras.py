"""Cameras, stills, areas, gates and the audit over HTTP."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Zone
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import Database
from plate_cameras.store.writing.live_tables import CameraState, Still
from tests.plate_cameras.control_room.rest.rooms import (
    CAMERAS,
    EDITOR,
    OF_THE_EAST,
    RestRoom,
    add_openings,
)
from tests.plate_cameras.gates.known_vehicles import make_gate
from tests.plate_cameras.store.stored_events import NOW_S

AREAS = {
    "zones": [{"name": "lane", "polygon": [[0, 0], [1, 0], [1, 1]]}],
    "lines": [{"name": "stop", "points": [[0, 0.5], [1, 0.5]]}],
    "masks": [],
}
STATUS = {"state": "playing", "frames": 12, "delay_s": 0.25, "dropped_share": 0.1}


def test_a_camera_that_nobody_watches_is_unknown(room: RestRoom) -> None:
    camera = room.get("/v1/cameras/gate")
    assert (camera["state"], camera["updated"], camera["still"]) == ("unknown", None, None)
    assert (camera["group"], camera["lists"]) == ("east", ["residents"])
    assert camera["areas_from"] == "file"
    assert "secret" not in room.client.get("/v1/cameras").text
    assert room.get("/v1/c%61meras/gate") == camera


@pytest.mark.parametrize(
    ("age_s", "state"),
    [pytest.param(1, "playing", id="fresh"), pytest.param(60, "unknown", id="old")],
)
def test_the_state_is_what_a_watcher_has_told_lately(
    room: RestRoom, age_s: float, state: str
) -> None:
    room.store.live.write_states([CameraState("gate", "watcher-1", time.time() - age_s, STATUS)])
    camera = room.get("/v1/cameras/gate")
    assert camera["state"] == state
    assert (camera["watcher"], camera["frames"], camera["delay_s"]) == ("watcher-1", 12, 0.25)


def test_a_still_has_its_time(room: RestRoom) -> None:
    assert room.client.get("/v1/cameras/gate/still.jpg").status_code == 404
    room.store.live.write_stills([Still("gate", NOW_S, b"a still")])
    still = room.client.get("/v1/cameras/gate/still.jpg")
    assert (still.content, still.headers["content-type"]) == (b"a still", "image/jpeg")
    assert still.headers["last-modified"] == "Sun, 15 Jun 2025 15:06:40 GMT"
    assert room.get("/v1/cameras/gate")["still"] == "/v1/cameras/gate/still.jpg"
    assert room.get("/v1/cameras/gate")["still_time"] == "2025-06-15T15:06:40.000Z"
    again = {"if-none-match": still.headers["etag"]}
    assert room.client.get("/v1/cameras/gate/still.jpg", headers=again).status_code == 304


def test_a_camera_whose_name_has_a_slash_is_reached(room: RestRoom) -> None:
    name, path = "yard/1 %2F", "/v1/cameras/yard%2F1%20%252F"
    configuration = replace(room.room.configuration, cameras=(replace(CAMERAS[0], name=name),))
    room.room.configuration = configuration
    room.store.live.write_stills([Still(name, NOW_S, b"a still")])
    camera = room.get(path)
    assert (camera["name"], camera["still"]) == (name, f"{path}/still.jpg")
    assert room.client.get(camera["still"]).content == b"a still"
    assert room.client.put(f"{path}/areas", json=AREAS).json()["areas_from"] == "page"
    assert room.client.get("/v1/cameras/yard/1").status_code == 404
    unknown = room.client.get("/v1/cameras/yard%2F2")
    assert (unknown.status_code, unknown.json()["detail"]) == (404, "there is no camera 'yard/2'")


def test_areas_are_drawn_and_go_back_to_the_file(room: RestRoom) -> None:
    camera = room.client.put("/v1/cameras/gate/areas", json=AREAS).json()
    assert {name: camera[name] for name in AREAS} == AREAS
    assert camera["areas_from"] == "page"
    assert room.store.live.areas()["gate"].areas.zones == (
        Zone("lane", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))),
    )
    back = room.client.delete("/v1/cameras/gate/areas").json()
    assert [zone["name"] for zone in back["zones"]] == ["entry"]
    assert back["areas_from"] == "file"


@pytest.mark.parametrize(
    "document",
    [
        pytest.param('{"state": "playing", "dropped_share": null}', id="of-another-version"),
        pytest.param('{"frames": "many"}', id="no-number"),
        pytest.param("[]", id="no-table"),
        pytest.param('{"state": "pl', id="damaged"),
    ],
)
def test_a_state_that_cannot_be_read_is_that_of_its_camera_alone(
    room: RestRoom, tmp_path: Path, document: str
) -> None:
    states = [CameraState(name, "watcher-1", time.time(), STATUS) for name in ("gate", "yard")]
    room.store.live.write_states(states)
    change = sa.text("UPDATE camera_states SET document = :document WHERE camera = 'gate'")
    with closing(open_database(tmp_path)) as database, database.writing() as connection:
        connection.execute(change, {"document": document})
    gate, yard = room.get("/v1/cameras")["cameras"]
    assert (gate["state"], yard["state"]) == ("unknown", "playing")
    assert gate["error"].startswith("its state cannot be read by this version")


def open_database(folder: Path) -> Database:
    return Database(f"sqlite:///{folder / 'passes.db'}")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param('[{"name": "stop", "curve": []}]', id="of-a-later-version"),
        pytest.param('[{"na', id="damaged"),
    ],
)
def test_areas_that_cannot_be_read_leave_those_of_the_file_and_are_told(
    room: RestRoom, tmp_path: Path, lines: str
) -> None:
    room.client.put("/v1/cameras/gate/areas", json=AREAS)
    with closing(open_database(tmp_path)) as database, database.writing() as connection:
        connection.execute(sa.text("UPDATE camera_areas SET lines = :lines"), {"lines": lines})
    gate, yard = room.get("/v1/cameras")["cameras"]
    assert [zone["name"] for zone in gate["zones"]] == ["entry"]
    assert gate["areas_from"] == "file"
    assert gate["error"].startswith("its drawn areas are not used")
    assert yard["error"] == ""


WRONG = (400, "parameter")


def zone(*points: list[float]) -> dict[str, Any]:
    return {"name": "a", "polygon": [*points]}


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        pytest.param({"zones": [zone([0, 0], [1, 1])]}, WRONG, id="two points"),
        pytest.param({"zones": [zone([0, 0], [1, 0], [2, 2])]}, WRONG, id="outside"),
        pytest.param({"lines": [{"name": "a", "points": [[0, 0]] * 3}]}, WRONG, id="a bend"),
        pytest.param({"zones": AREAS["zones"] * 2}, WRONG, id="a name twice"),
        pytest.param({"areas": []}, WRONG, id="unknown field"),
        pytest.param({"zones": [zone(*[[0, 0]] * 20_000)]}, (413, "size"), id="too large to read"),
    ],
)
def test_wrong_areas_change_nothing(
    room: RestRoom, body: dict[str, Any], refusal: tuple[int, str]
) -> None:
    answer = room.client.put("/v1/cameras/gate/areas", json=body)
    assert (answer.status_code, answer.json()["reason"]) == refusal
    assert room.store.live.areas() == {}


def test_an_administrator_of_a_group_reads_the_audit_of_its_people_and_keys(
    filled_room: RestRoom,
) -> None:
    searches = [("clara", ("east",)), ("david", ("west",)), ("local", ()), ("key:desk", ("east",))]
    searches += [("clara", ("east", "west")), ("clara", ())]  # before she came to the east
    for name, groups in searches:
        filled_room.store.search(PassQuery(text="A*"), Requester(name, "-", Scope(groups)))
    filled_room.enter_as(OF_THE_EAST)
    assert [who for who, *_ in filled_room.kinds()] == ["key:desk", "clara"]


def test_only_administrators_draw_areas_and_read_the_audit(room: RestRoom) -> None:
    room.enter_as(EDITOR)
    assert room.client.put("/v1/cameras/gate/areas", json=AREAS).status_code == 403
    assert room.client.get("/v1/audit").status_code == 403


def test_gates_tell_which_conditions_cannot_be_met(room: RestRoom) -> None:
    gate = make_gate(cameras=("gate", "yard"), zones=("entry",))
    room.room.configuration = replace(room.room.configuration, gates=(gate,))
    room.store.configure(CAMERAS)

    def read_unmet() -> list[tuple[str, str]]:
        (answer,) = room.get("/v1/gates")["gates"]
        return [(unmet["code"], unmet["name"]) for unmet in answer["unmet"]]

    assert read_unmet() == [("zones", "yard"), ("list", "residents")]
    room.store.lists.create("residents")
    room.client.put("/v1/cameras/gate/areas", json=AREAS)
    assert read_unmet() == [("zone", "entry")]
    room.client.delete("/v1/cameras/gate/areas")
    room.enter_as(OF_THE_EAST)
    assert read_unmet() == []  # the yard belongs to the west


def test_openings_come_in_pages_and_with_their_pass(filled_room: RestRoom) -> None:
    add_openings(filled_room)
    first = filled_room.get("/v1/gates/openings?limit=1")
    second = filled_room.get(f"/v1/gates/openings?limit=1&cursor={first['cursor']}")
    openings = first["openings"] + second["openings"]
    assert [item["camera"] for item in openings] == ["yard", "gate"]
    names = ("reason", "reason_code", "reason_values", "delay_s")
    assert [[item[name] for name in names] for item in openings] == [
        ["the text's score is below 0.95", "score", {"threshold": "0.95"}, None],
        ["", "", {}, 0.4],
    ]
    assert second["cursor"] == ""
    (opening,) = filled_room.get("/v1/passes/gate-1")["openings"]
    assert (opening["gate"], opening["time"]) == ("barrier", "2025-06-15T15:06:40.000Z")
    filled_room.enter_as(OF_THE_EAST)
    assert [item["camera"] for item in filled_room.get("/v1/gates/openings")["openings"]] == [
        "gate"
    ]


def test_the_audit_comes_in_pages(filled_room: RestRoom) -> None:
    filled_room.get("/v1/passes?text=A1*")
    filled_room.get("/v1/passes?text=B*")
    first = filled_room.get("/v1/audit?limit=1")
    second = filled_room.get(f"/v1/audit?limit=1&cursor={first['cursor']}")
    texts = [search["query"]["text"] for search in first["searches"] + second["searches"]]
    assert texts == ["B*", "A1*"]
    assert filled_room.get("/v1/audit?until=2025-06-14")["searches"] == []
