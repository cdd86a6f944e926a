"""The vehicles inside of a site, over HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plate_cameras.configuration import Site
from plate_cameras.control_room.access.principals import Principal
from plate_cameras.control_room.rest import sites
from tests.plate_cameras.control_room.rest.rooms import (
    ADMINISTRATOR,
    EDITOR,
    OF_THE_EAST,
    VIEWER,
    RestRoom,
)
from tests.plate_cameras.store.stored_events import NOW_S

VEHICLES, LEFT = "/v1/sites/car%20park/vehicles", "/v1/sites/car%20park/departures/gate-1"
LIMITED = Site("car park", ("gate",), ("yard",), max_stay_hours=0.001, forget_days=365)


@pytest.fixture
def site(filled_room: RestRoom, monkeypatch: pytest.MonkeyPatch) -> RestRoom:
    """A room with a site, in which the vehicle of `gate-1` is."""
    monkeypatch.setattr(sites, "unix_s", lambda: NOW_S)
    filled_room.room.configuration = replace(filled_room.room.configuration, sites=(LIMITED,))
    filled_room.enter_as(EDITOR)
    return filled_room


def ids_of(room: RestRoom, query: str = "") -> list[str]:
    return [vehicle["entry"]["id"] for vehicle in room.get(VEHICLES + query)["vehicles"]]


def test_an_editor_marks_who_has_left(site: RestRoom) -> None:
    assert ids_of(site) == ids_of(site, "?overstays=true") == ["gate-1"]
    assert site.client.put(LEFT).status_code == 204
    assert ids_of(site) == ids_of(site, "?overstays=true") == []
    assert site.client.delete(LEFT).status_code == 204
    assert ids_of(site) == ["gate-1"]
    site.enter_as(ADMINISTRATOR)
    kinds = [kind for who, _, kind, _ in site.kinds() if who == EDITOR.name]
    assert kinds.count("mark left") == kinds.count("mark inside") == 1
    assert kinds.count("inside") == 5


@pytest.mark.parametrize(
    ("principal", "path", "status"),
    [
        pytest.param(EDITOR, LEFT.replace("gate-1", "yard-1"), 404, id="no entry"),
        pytest.param(EDITOR, LEFT.replace("car%20park", "other"), 404, id="no site"),
        pytest.param(VIEWER, LEFT, 403, id="viewer"),
        pytest.param(OF_THE_EAST, LEFT, 404, id="another group"),
    ],
)
def test_nobody_else_marks_anything(
    site: RestRoom, principal: Principal, path: str, status: int
) -> None:
    site.enter_as(principal)
    assert site.client.put(path).status_code == status


def test_a_look_needs_a_reason_where_searches_do(site: RestRoom) -> None:
    site.require_reasons()
    answer = site.client.get(VEHICLES)
    assert (answer.status_code, answer.json()["detail"][:7]) == (400, "reason:")
    assert site.client.get(VEHICLES, headers={"X-Reason": "case 7"}).status_code == 200
