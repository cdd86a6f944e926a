"""The API as an OpenAPI 3.1 document, made from what the answers, limits and refusals are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator.serving.gateway.http import schemas
from orchestrator.serving.gateway.http.api_docs.api_examples import (
    CALL,
    EMPTY,
    FAILED_PICTURE,
    LABELLED,
    LABELS,
    PARAMETERS,
    PICTURES,
    PROBLEMS,
    READ,
    RECOGNIZED,
    TRIED_LATER,
    Json,
)
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import (
    NO_PART,
    ApiPart,
    describe_answers,
)
from orchestrator.serving.gateway.http.multipart import FIELDS
from orchestrator.serving.gateway.http.problem_details import MEDIA_TYPE, problem
from orchestrator.serving.gateway.http.rest import FORM, MAX_ID_CHARACTERS
from orchestrator.serving.gateway.http.snapshot_api import snapshot_openapi
from orchestrator.serving.gateway.http.snapshot_api.snapshot_bodies import PATH
from orchestrator.serving.gateway.http.vision_api import vision, vision_openapi
from orchestrator.serving.gateway.options import Limits
from orchestrator.settings import READER_PARAMETERS, REQUEST_PARAMETERS

VERSION = "1.4.0"
"""The version of the API, not of the program."""
KSERVE = "https://github.com/kserve/open-inference-protocol"
HOST = "http://localhost:8000"  # of the examples
KEYED: list[Json] = [{"bearer": []}, {"key": []}]


def document(wants_keys: bool, limits: Limits, more: ApiPart = NO_PART) -> Json:
    """Return the description of the API.

    Args:
        wants_keys: Every call needs a key.
        limits: The limits of requests.
        more: The part of an extension.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Number plate recognition",
            "version": VERSION,
            "summary": "Finds and reads number plates in pictures",
            "description": _introduction(limits),
            "license": {"name": "AGPL-3.0-or-later", "identifier": "AGPL-3.0-or-later"},
        },
        "servers": [{"url": "/", "description": "This service"}],
        "tags": [
            {"name": "pictures", "description": "What is in pictures"},
            *more.tags,
            {"name": "service", "description": "How the service is, and what it offers"},
        ],
        "security": KEYED if wants_keys else [{}, *KEYED],
        "paths": {
            "/v1/recognize": {"post": _recognize(limits)},
            "/v1/read": {"post": _read(limits)},
            PATH: {"post": snapshot_openapi.operation(HOST, _token_too(wants_keys))},
            vision.PATH: {"post": vision_openapi.operation(HOST)},
        }
        | {**more.paths}
        | {path: {"get": operation} for path, operation in _service().items()},
        "components": {
            kind: {**parts, **more.components.get(kind, {})}
            for kind, parts in _components().items()
        },
    }


def _token_too(wants_keys: bool) -> list[Json]:
    """Return the ways to send a key, with the one of Plate Recognizer's clients."""
    ways: list[Json] = [*KEYED, {"token": []}]
    return ways if wants_keys else [{}, *ways]


def _introduction(limits: Limits) -> str:
    return (
        "Send a picture, get the plates in it with their boxes, texts and scores. "
        f"A body may have up to {limits.body_mb} MiB and {limits.pictures} pictures, "
        f"a picture up to {limits.pixels:,} pixels, a client {limits.client_calls} calls at once "
        f"and {limits.client_rate:g} a second. "
        f"Beside this API the service speaks [KServe v2]({KSERVE}) under `/v2` "
        "for the models `plate_recognition` and `plate_reader`, as Triton's own clients do."
    )


def _recognize(limits: Limits) -> Json:
    several = [RECOGNIZED | {"name": "car.jpg"}, FAILED_PICTURE]
    return {
        "operationId": "recognize",
        "tags": ["pictures"],
        "summary": "Find and read the plates in pictures",
        "description": "One picture as the body, or several as a form. Of several each may fail "
        "alone: it has a `problem` where the others have `plates`.",
        "parameters": _parameters(REQUEST_PARAMETERS),
        "requestBody": _body(limits, "pictures"),
        "responses": {
            "200": _answer(
                schemas.Recognition,
                one=LABELLED | {"pictures": [RECOGNIZED]},
                none=CALL | {"pictures": [EMPTY]},
                several=CALL | {"pictures": several},
            )
        }
        | _problems(PROBLEMS),
        "x-codeSamples": [
            _sample(
                "/v1/recognize?text_threshold=0.9",
                "-H 'Content-Type: image/jpeg' --data-binary @car.jpg",
            ),
            _sample("/v1/recognize", "-F picture=@car.jpg -F picture=@street.png"),
            _sample("/v1/recognize", "-F upload=@car.jpg -F camera_id=gate-7"),
        ],
    }


def _read(limits: Limits) -> Json:
    several = [READ | {"name": "plate.png"}, FAILED_PICTURE]
    return {
        "operationId": "read",
        "tags": ["pictures"],
        "summary": "Read tight crops of plates",
        "description": "For callers that find the plates themselves: each picture is one plate, "
        f"of up to {limits.crop_pixels:,} pixels.",
        "parameters": _parameters(READER_PARAMETERS),
        "requestBody": _body(limits, "crops"),
        "responses": {
            "200": _answer(
                schemas.Readings,
                one=LABELLED | {"pictures": [READ]},
                several=CALL | {"pictures": several},
            )
        }
        | _problems(PROBLEMS),
        "x-codeSamples": [
            _sample("/v1/read", "-H 'Content-Type: image/png' --data-binary @plate.png"),
            _sample("/v1/read", "-F picture=@plate.png -F picture=@another.png"),
        ],
    }


def _service() -> dict[str, Json]:
    alive = _answer(schemas.Alive, alive={"status": "alive"})
    ready = _answer(schemas.Ready, ready={"status": "ready", "canary_age_s": 3.1})
    document_content = _content("The document.", "application/json", {"type": "object"})
    return {
        "/healthz": _describe_get("healthz", "Tell whether the gateway is alive", alive),
        "/readyz": _describe_get("readyz", "Tell whether a picture was read lately", ready, "503"),
        "/metrics": _describe_get(
            "metrics", "Metrics for Prometheus", _content("Metrics.", "text/plain")
        ),
        "/openapi.json": _describe_get("openapi", "This document", document_content),
        "/docs": _describe_get(
            "docs", "This document for people", _content("The page.", "text/html")
        ),
    }


def _describe_get(name: str, summary: str, answer: Json, *problems: str) -> Json:
    return {
        "operationId": name,
        "tags": ["service"],
        "summary": summary,
        "security": [],
        "responses": {"200": answer} | _problems(problems),
    }


def _parameters(names: Iterable[str]) -> list[Json]:
    parameters = {**{name: PARAMETERS[name] for name in names}, **LABELS}
    query = [
        {
            "name": name,
            "in": "query",
            "description": about,
            "schema": schema,
            "example": _to_type(schema, example),
        }
        for name, (about, schema, example) in parameters.items()
    ]
    return [*query, {"$ref": "#/components/parameters/request_id"}]


def _to_type(schema: Json, example: str) -> object:
    """Return an example as a value of its schema's type."""
    kinds: dict[str, Callable[[str], object]] = {"number": float, "integer": int}
    return kinds.get(schema["type"], str)(example)


def _body(limits: Limits, contents: str) -> Json:
    file = {"type": "string", "format": "binary"}
    pictures = {kind: {"schema": file} for kind in PICTURES}
    encoding = {name: {"contentType": ", ".join(PICTURES)} for name in FIELDS}
    return {
        "required": True,
        "description": "JPEG, PNG, WebP or BMP, judged by its bytes; "
        f"or a form with {contents}, all in fields of one name",
        "content": pictures
        | {FORM: {"schema": _form(limits, contents, file), "encoding": encoding}},
    }


def _form(limits: Limits, contents: str, file: Json) -> Json:
    """Return the schema of a form: its pictures have one of the names of their field."""
    files = {"type": "array", "items": file, "minItems": 1, "maxItems": limits.pictures}
    about = dict.fromkeys(FIELDS, f"Another name of `{FIELDS[0]}`")
    about[FIELDS[0]] = f"The {contents}, each with its file's name"
    labels = {name: schema | {"description": text} for name, (text, schema, _) in LABELS.items()}
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {name: files | {"description": about[name]}} | labels,
                "required": [name],
                "additionalProperties": False,
            }
            for name in FIELDS
        ]
    }


def _answer(model: type[schemas.Model], **examples: Json) -> Json:
    content = {
        "schema": {"$ref": f"#/components/schemas/{model.__name__}"},
        "examples": {name: {"value": value} for name, value in examples.items()},
    }
    return {"description": str(model.__doc__), "content": {"application/json": content}}


def _content(description: str, media_type: str, schema: Json | None = None) -> Json:
    content = {media_type: {"schema": schema or {"type": "string"}}}
    return {"description": description, "content": content}


def _problems(statuses: Iterable[str]) -> Json:
    return {status: {"$ref": f"#/components/responses/Problem{status}"} for status in statuses}


def _problem_response(status: str) -> Json:
    values = {outcome.reason.replace(" ", "_"): problem(outcome) for outcome in PROBLEMS[status]}
    content = {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": {name: {"value": value} for name, value in values.items()},
    }
    titles = dict.fromkeys(str(value["title"]) for value in values.values())
    response: Json = {"description": "; ".join(titles), "content": {MEDIA_TYPE: content}}
    if status in TRIED_LATER:
        response["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return response


def _sample(path: str, arguments: str) -> Json:
    return {"lang": "Shell", "label": "curl", "source": f"curl {arguments} '{HOST}{path}'"}


def _components() -> Json:
    return {
        "schemas": describe_answers(),
        "responses": {f"Problem{status}": _problem_response(status) for status in PROBLEMS},
        "parameters": {
            "request_id": {
                "name": "X-Request-Id",
                "in": "header",
                "description": f"Names the call in the service's log: up to {MAX_ID_CHARACTERS} "
                "printable characters; a missing or unusable name is replaced",
                "schema": {"type": "string"},
                "example": "gate-7-000123",
            }
        },
        "headers": {
            "RetryAfter": {
                "description": "Seconds to wait before the next call",
                "schema": {"type": "integer", "minimum": 0},
                "example": 1,
            }
        },
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "description": "An API key"},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "token": {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": "`Token KEY`, as clients of Plate Recognizer write it",
            },
        },
    }
