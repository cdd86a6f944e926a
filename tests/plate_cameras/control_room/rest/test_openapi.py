"""The control room's part of the OpenAPI document, and its answers compared with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from schemathesis.checks import CHECKS
from schemathesis.schemas import BaseSchema
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.http.api_docs.page_languages import DESCRIBING, to_plain
from orchestrator.serving.gateway.http.page.texts import read_texts
from orchestrator.serving.gateway.options import Limits
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.routes import describe, rest_routes
from plate_cameras.control_room.room_texts import read_room_texts
from tests.plate_cameras.control_room.access.rooms import open_room
from tests.plate_cameras.control_room.rest.rooms import RestRoom
from tests.plate_cameras.store.stored_events import make_event
from tests.serving.gateway.fuzzing import CHECKED, prepare
from tests.serving.gateway.http.html_reader import HtmlReader


def read_document(room: RestRoom) -> dict:
    return room.get("/openapi.json")


def test_every_route_and_field_is_described_beside_those_of_recognition(room: RestRoom) -> None:
    whole = read_document(room)
    paths, schemas = whole["paths"], whole["components"]["schemas"]
    assert {*paths["/v1/lists/{name}"]} == {"put", "delete"}
    assert paths.keys() >= PART_OF_THE_ROOM | {"/v1/recognize"}
    names = [method["operationId"] for methods in paths.values() for method in methods.values()]
    assert len(names) == len({*names})
    assert {"PassFields", "CameraAnswer", "AreasBody"} <= schemas.keys()
    assert all("description" in schema for schema in schemas.values())


def test_the_page_shows_the_operations(room: RestRoom) -> None:
    text = HtmlReader(room.client.get("/docs?part=passes").text).text
    assert "/v1/passes/{id}/crop.jpg" in text
    assert "Search passes, the newest first" in text


def texts_in(document: Any) -> set[str]:
    """Return all descriptions and summaries, without the point at the end."""
    if isinstance(document, list):
        return set().union(*map(texts_in, document))
    if not isinstance(document, dict):
        return set()
    own = {document[name].rstrip(".") for name in DESCRIBING if isinstance(document.get(name), str)}
    return own.union(*map(texts_in, document.values()))


def test_the_descriptions_are_there_in_russian(room: RestRoom) -> None:
    """A few may wait for their translation; those about limits have numbers in them."""
    translations = to_plain({**read_texts()["ru"].docs, **read_room_texts()["ru"].docs})
    texts = texts_in({**read_document(room), "responses": {}})
    missing_texts = sorted(texts - translations.keys())
    assert len(texts) > 300
    assert len(missing_texts) <= 0.08 * len(texts), missing_texts


def is_checked(path: str) -> bool:
    """Tell whether an operation is tested: any but the endless stream of events."""
    return path in PART_OF_THE_ROOM and path != "/v1/events"


PART_OF_THE_ROOM = {route.path for route in rest_routes(cast(ChangeFeed, None))}


def describe_room() -> dict[str, Any]:
    routes = rest_routes(cast(ChangeFeed, None))
    whole = document(wants_keys=False, limits=Limits(), more=describe(routes))
    return whole | {
        "paths": {path: methods for path, methods in whole["paths"].items() if is_checked(path)}
    }


CONFIG = schemathesis.Config.from_dict(
    {
        "generation": {"max-examples": 4, "deterministic": True, "database": "none"},
        "phases": {"stateful": {"enabled": False}, "coverage": {"enabled": False}},
    }
)
schema = schemathesis.pytest.from_fixture("described_room")


@pytest.fixture
def described_room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseSchema]:
    prepare(request.node)
    with open_room(tmp_path, url="http://localhost") as room:
        room.store.write([make_event("gate-1")], [])
        schema = schemathesis.openapi.from_dict(describe_room(), config=CONFIG)
        schema.app = from_loopback(room.client.app)
        yield schema


def from_loopback(app: ASGIApp) -> ASGIApp:
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope | {"client": ("127.0.0.1", 50000)}, receive, send)

    return call


@pytest.mark.server
@schema.parametrize()
def test_answers_are_as_described(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=checks_of(case), base_url="http://localhost")


def checks_of(case: schemathesis.Case) -> list[schemathesis.CheckFunction]:
    names = [*CHECKED]
    names.remove("positive_data_acceptance")  # names are unknown, and texts have more rules
    return [CHECKS.get_one(name) for name in names]
