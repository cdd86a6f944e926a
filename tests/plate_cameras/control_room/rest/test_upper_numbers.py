"""Every value that a caller may choose has a limit, in all operations of the room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.routes import describe, rest_routes
from plate_cameras.store.people import people
from plate_cameras.store.people.people import Person
from tests.plate_cameras.control_room.rest.rooms import RestRoom
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, make_event

PART = describe(rest_routes(cast(ChangeFeed, None)))
SCHEMAS = PART.components["schemas"]
OPERATIONS = [
    pytest.param(path, operation, id=operation["operationId"])
    for path, methods in PART.paths.items()
    for operation in methods.values()
]


def without_limit(schema: dict[str, Any], name: str) -> Iterator[str]:
    """Return the parts of a schema without a limit of size."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]]
    kind = schema.get("type")
    if kind == "string" and not {"enum", "const", "maxLength"} & schema.keys():
        yield name
    if kind == "integer" and "maximum" not in schema:
        yield name
    if kind == "array":
        if "maxItems" not in schema:
            yield name
        for part in [schema.get("items"), *schema.get("prefixItems", [])]:
            if part:
                yield from without_limit(part, f"{name}[]")
    if kind == "object":
        if schema.get("additionalProperties") is not False:
            yield f"{name}.*"
        for key, part in schema.get("properties", {}).items():
            yield from without_limit(part, f"{name}.{key}")
    for part in [*schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])]:
        yield from without_limit(part, name)


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_each_value_that_a_caller_chooses_has_a_limit(path: str, operation: dict[str, Any]) -> None:
    names: list[str] = []
    for parameter in operation["parameters"]:
        if "$ref" in parameter:
            parameter = PART.components["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
        names += without_limit(parameter["schema"], parameter["name"])
    for body in operation.get("requestBody", {}).get("content", {}).values():
        names += without_limit(body["schema"], "body")
    assert names == [], path


def is_collection(schema: dict[str, Any]) -> bool:
    """Tell whether an answer is a list of one kind of things."""
    kinds = [field.get("type") for field in schema["properties"].values()]
    return kinds.count("array") == 1 and len(kinds) <= 3


COLLECTIONS = {
    operation["operationId"]: (operation, schema)
    for methods in PART.paths.values()
    for operation in methods.values()
    if (content := operation["responses"].get("200", {}).get("content", {}))
    and "application/json" in content
    and (schema := SCHEMAS[content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]])
    and is_collection(schema)
}


def test_each_collection_comes_in_pages() -> None:
    assert COLLECTIONS.keys() >= {"lists", "entries", "cameras", "gates", "people", "openings"}
    assert COLLECTIONS.keys() >= {"audit", "passes", "countPasses"}
    for name, (operation, schema) in COLLECTIONS.items():
        names = {parameter.get("name") for parameter in operation["parameters"]}
        assert names >= {"limit", "cursor"}, name
        assert "cursor" in schema["properties"], name


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/v1/cameras", ["gate", "yard"]),
        ("/v1/lists", ["guests", "residents"]),
        ("/v1/people", ["anna", "boris"]),
    ],
)
def test_things_with_names_come_in_pages(
    filled_room: RestRoom, path: str, names: list[str]
) -> None:
    filled_room.store.lists.create("guests")
    for name in ("anna", "boris"):
        filled_room.store.people.add(Person(name, "viewer"), "hash", REQUESTER)
    pages = [*pages_of(filled_room, f"{path}?")]
    assert [item["name"] for page in pages for item in page[path.rsplit("/", 1)[1]]] == names
    answer = filled_room.client.get(f"{path}?cursor=gone")
    assert (answer.status_code, answer.json()["reason"]) == (400, "parameter")


def pages_of(room: RestRoom, path: str) -> Iterator[dict[str, Any]]:
    """Yield all pages, of one thing each."""
    cursor = ""
    while (page := room.get(f"{path}limit=1&cursor={cursor}"))["cursor"]:
        yield page
        cursor = page["cursor"]
    yield page


@pytest.mark.parametrize("by", ["hour", "camera"])
def test_counts_come_in_pages(filled_room: RestRoom, by: str) -> None:
    earlier = [make_event(f"e{at}", first_seen_s=NOW_S - 7200 * at) for at in range(1, 4)]
    filled_room.store.write(earlier, [])
    whole = filled_room.get(f"/v1/passes/counts?by={by}")
    assert (len(whole["counts"]), whole["cursor"]) == ({"hour": 4, "camera": 2}[by], "")
    pages = pages_of(filled_room, f"/v1/passes/counts?by={by}&offset_minutes=0&")
    assert [item for page in pages for item in page["counts"]] == whole["counts"]


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/v1/passes?" + "camera=gate&" * 201, "camera: wanted at most 200 items"),
        ("GET", "/v1/passes?" + "zone=entry&" * 201, "zone: wanted at most 200 items"),
        ("GET", "/v1/passes?" + "part=123&" * 11, "part: wanted at most 10 items"),
        ("GET", f"/v1/passes?from=2026-11-26T08:00:00.{'0' * 40}", "from: "),
        ("PUT", f"/v1/lists/{'n' * 201}", "name: wanted at most 200"),
        ("GET", f"/v1/people?cursor={'n' * 201}", "cursor: "),
    ],
    ids=["cameras", "zones", "parts", "time", "name", "cursor"],
)
def test_more_than_the_limit_is_told(room: RestRoom, method: str, path: str, message: str) -> None:
    answer = room.client.request(method, path.rstrip("&"), json={})
    assert answer.status_code == 400
    assert message in answer.json()["detail"]


def test_people_have_an_upper_number(room: RestRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MAX_PEOPLE", 1)
    room.store.people.add(Person("anna", "viewer"), "hash", REQUESTER)
    with pytest.raises(ParameterError, match="people: wanted at most 1, got one more"):
        room.store.people.add(Person("boris", "viewer"), "hash", REQUESTER)
