"""All routes of the REST API, and their description as a part of the gateway's OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from orchestrator.serving.gateway.extension import (
    MEDIA_TYPE,
    ApiPart,
    Outcome,
    describe_models,
    problem,
)
from plate_cameras.control_room.endpoint import CURSOR
from plate_cameras.control_room.operations import Operation, RoomRoute
from plate_cameras.control_room.rest import (
    cameras,
    gates,
    list_imports,
    lists,
    passes,
    people,
    plates,
    sessions,
    sinks,
    sites,
)
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.events import make_route
from plate_cameras.control_room.rest.queries import MAX_NAME_LENGTH, Query
from plate_cameras.control_room.room_texts import read_room_texts


def rest_routes(feed: ChangeFeed) -> tuple[RoomRoute, ...]:
    """Return the routes.

    Args:
        feed: Gives changes to the listeners of `/v1/events`.
    """
    return (
        *passes.ROUTES,
        *plates.ROUTES,
        make_route(feed),
        *lists.ROUTES,
        *list_imports.ROUTES,
        *cameras.ROUTES,
        *gates.ROUTES,
        *sites.ROUTES,
        *sinks.ROUTES,
        *sessions.ROUTES,
        *people.ROUTES,
        plates.list_searches,
    )


Json = dict[str, Any]
JSON = "application/json"
TAGS = {
    "passes": "Vehicles that passed cameras",
    "lists": "Lists of plates",
    "cameras": "Cameras and their areas",
    "gates": "Gates and their openings",
    "sites": "Sites, and who is inside",
    "sinks": "Receivers of events",
    "people": "People who log in, and their sessions",
    "operation": "For the operator: audit, and the data of one plate",
}
PATH_VALUES = {
    "id": ("Its id", "019a0000-0000-7000-8000-000000000000"),
    "text": ("Text of the plate", "A123BC77"),
}
NAMES = {
    "lists": ("Name of the list", "residents"),
    "cameras": ("Name of the camera", "gate"),
    "gates": ("Name of the gate", "barrier"),
    "sites": ("Name of the site", "yard"),
    "sinks": ("Name of the sink", "guard"),
    "people": ("Name of the person", "anna"),
}
"""The meaning of `name` in a path, with an example, by the tag."""
LINK = {
    "description": 'The next page with `rel="next"`, relative to the request; none after the last',
    "schema": {"type": "string"},
}
FAILURES = {
    "400": Outcome(400, "INVALID_ARGUMENT", "parameter", "limit: wanted 1 to 1000, got 0"),
    "401": Outcome(401, "UNAUTHENTICATED", "key", "wanted a valid key, got none"),
    "403": Outcome(403, "PERMISSION_DENIED", "role", "role: wanted editor, got viewer"),
    "404": Outcome(404, "NOT_FOUND", "not served", "there is no camera 'yard'"),
    "429": Outcome(429, "RESOURCE_EXHAUSTED", "rate", "wanted up to 200 calls a second", 1),
    "503": Outcome(503, "UNAVAILABLE", "database", "the database cannot be used now", 1),
}
CONFLICT = {
    "409": Outcome(409, "FAILED_PRECONDITION", "conflict", "there is a person 'anna' already")
}
OF_BODIES = {
    "408": Outcome(408, "DEADLINE_EXCEEDED", "slow", "body: wanted within 30 s, got a part"),
    "411": Outcome(411, "INVALID_ARGUMENT", "encoding", "wanted Content-Length, got none"),
    "413": Outcome(413, "RESOURCE_EXHAUSTED", "size", "body: wanted up to 80 MiB, got 90 MiB"),
    "415": Outcome(415, "UNIMPLEMENTED", "encoding", "content-type: wanted JSON, got text/plain"),
}


def describe(routes: Iterable[RoomRoute]) -> ApiPart:
    """Return the description of all routes that have one."""
    paths: dict[str, Json] = {}
    models: dict[str, type[BaseModel]] = {}
    for route in routes:
        if route.operation:
            document = _describe_operation(route.path, route.operation)
            paths.setdefault(route.path, {})[route.method.lower()] = document
            kinds = (route.operation.answer, route.operation.body)
            models |= {kind.__name__: kind for kind in kinds if kind}
    return ApiPart(
        tags=[{"name": name, "description": about} for name, about in TAGS.items()],
        paths=paths,
        texts={language: texts.docs for language, texts in read_room_texts().items()},
        components={
            "schemas": describe_models(models.values()),
            "responses": {
                f"RoomProblem{status}": _failure(outcome)
                for status, outcome in (FAILURES | CONFLICT | OF_BODIES).items()
            },
            "parameters": {"reason": _reason(), "automatic": _automatic()},
        },
    )


def _describe_operation(path: str, operation: Operation) -> Json:
    has_body = bool(operation.body or operation.text_body)
    failures = [*FAILURES, *(OF_BODIES if has_body else ()), *operation.problems]
    successes = [operation.status, *([201] if operation.creates else [])]
    document: Json = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": [*_parameters(path, operation)],
        "responses": {str(status): _answer(operation) for status in successes}
        | {
            failure: {"$ref": f"#/components/responses/RoomProblem{failure}"}
            for failure in failures
        },
    }
    if operation.is_public:
        document["security"] = []
    if has_body:
        document["requestBody"] = {"required": True} | _body(operation)
    return document


def _body(operation: Operation) -> Json:
    if operation.body:
        about, kind = str(operation.body.__doc__).rstrip("."), JSON
        schema = _reference(operation.body)
    else:
        about, kind = operation.text_about, operation.text_body
        schema = {"type": "string", "maxLength": operation.max_text_bytes}
    return {"description": about, "content": {kind: {"schema": schema}}}


def _parameters(path: str, operation: Operation) -> Iterator[Json]:
    for name in re.findall(r"{(\w+)}", path):
        about, example = NAMES[operation.tag] if name == "name" else PATH_VALUES[name]
        schema = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH}
        yield {"name": name, "in": "path", "required": True, "description": about} | {
            "schema": schema,
            "example": example,
        }
    if not operation.takes_reason:
        return
    query = operation.query or Query
    for name, schema in query.model_json_schema()["properties"].items():
        yield _query_parameter(name, schema)
    yield {"$ref": "#/components/parameters/reason"}
    yield {"$ref": "#/components/parameters/automatic"}


def _query_parameter(name: str, schema: Json) -> Json:
    about = schema.pop("description")
    examples = schema.pop("examples", [""])
    kinds = [kind for kind in schema.pop("anyOf", []) if kind.get("type") != "null"]
    schema = kinds[0] if kinds else schema
    for key in ("title", "default"):
        schema.pop(key, None)
    if "items" in schema:
        schema["items"].pop("title", None)
    parameter = {"name": name, "in": "query", "description": about, "schema": schema}
    return parameter | {"example": examples[0]} if examples[0] != "" else parameter


def _answer(operation: Operation) -> Json:
    content: Json = {}
    if operation.answer:
        content[JSON] = {"schema": _reference(operation.answer)}
    for kind, about in operation.media.items():
        is_text = kind.startswith("text/")
        file = {"type": "string"} if is_text else {"type": "string", "format": "binary"}
        content[kind] = {"schema": file | {"description": about}}
    about = (
        str(operation.answer.__doc__)
        if operation.answer
        else next(iter(operation.media.values()), "Done")
    )
    answer: Json = {"description": about}
    if operation.answer and CURSOR in operation.answer.model_fields:
        answer["headers"] = {"Link": LINK}
    return answer | {"content": content} if content else answer


def _reference(model: type[BaseModel]) -> Json:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _failure(outcome: Outcome) -> Json:
    value = problem(outcome)
    name = outcome.reason.replace(" ", "_")
    content = {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": {name: {"value": value}},
    }
    response: Json = {"description": str(value["title"]), "content": {MEDIA_TYPE: content}}
    if outcome.retry_after_s is not None:
        response["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return response


def _reason() -> Json:
    return {
        "name": "X-Reason",
        "in": "header",
        "description": "The reason of the request, for the audit; it goes before `reason`",
        "schema": {"type": "string", "maxLength": 500},
        "example": "case 7",
    }


def _automatic() -> Json:
    return {
        "name": "X-Automatic",
        "in": "header",
        "description": "A page asks by itself, and no person; the audit says so",
        "schema": {"type": "string", "enum": ["true"]},
        "example": "true",
    }
