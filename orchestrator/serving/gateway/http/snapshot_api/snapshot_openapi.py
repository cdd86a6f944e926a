"""The description of `/v1/plate-reader/`, a part of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from orchestrator.serving.gateway.errors import Outcome
from orchestrator.serving.gateway.http.api_docs.api_examples import (
    PICTURES,
    PROBLEMS,
    TRIED_LATER,
    Json,
)
from orchestrator.serving.gateway.http.labels import MAX_CAMERA_ID_CHARACTERS, TIMESTAMP
from orchestrator.serving.gateway.http.rest import FORM
from orchestrator.serving.gateway.http.snapshot_api.snapshot_bodies import (
    ENCODED_FORM,
    JSON,
    PATH,
    UPLOAD,
)
from orchestrator.serving.gateway.http.snapshot_api.snapshot_schemas import (
    EngineConfig,
    SnapshotAnswer,
    SnapshotFields,
)

EXAMPLE: Json = {
    "processing_time": 54.9,
    "results": [
        {
            "box": {"xmin": 412, "ymin": 300, "xmax": 520, "ymax": 326},
            "plate": "a123bc77",
            "region": {"code": "ru", "score": 0.97},
            "score": 0.97,
            "candidates": [
                {"score": 0.97, "plate": "a123bc77"},
                {"score": 0.01, "plate": "a128bc77"},
            ],
            "dscore": 0.93,
            "vehicle": {
                "score": 0.0,
                "type": "Unknown",
                "box": {"xmin": 0, "ymin": 0, "xmax": 0, "ymax": 0},
            },
        }
    ],
    "filename": "car.jpg",
    "version": 1,
    "camera_id": "gate-7",
    "timestamp": "2026-05-17T09:30:00",
}
IGNORED = ("regions", "mmc")
"""Fields of Plate Recognizer's API that have no effect here."""


TIME = f"^$|{TIMESTAMP.replace('T', '[T ]', 1)}"
"""Pattern of a time. Their clients also write a blank for the T, or nothing."""


def operation(host: str, security: list[Json]) -> Json:
    """Return the description of the call.

    Args:
        host: Scheme, host and port of the examples.
        security: The ways to send a key.
    """
    return {
        "operationId": "plateReader",
        "tags": ["pictures"],
        "summary": "Read one picture, for clients of Plate Recognizer",
        "description": "Takes and answers the fields of Plate Recognizer's snapshot API, so a "
        "client of theirs only changes its address. Only plates that were read are answered. "
        f"`{'`, `'.join(IGNORED)}` and unknown fields are ignored; `upload_url` is not fetched.",
        "security": security,
        "parameters": [{"$ref": "#/components/parameters/request_id"}],
        "requestBody": {
            "required": True,
            "description": "One picture: a file, or base64 text",
            "content": {
                FORM: {
                    "schema": _body("binary"),
                    "encoding": {UPLOAD: {"contentType": ", ".join(PICTURES)}},
                },
                ENCODED_FORM: {"schema": _body("byte")},
                JSON: {"schema": _body("byte", is_json=True)},
            },
        },
        "responses": {"201": _answer(), **{_status(code): _failure(code) for code in PROBLEMS}},
        "x-codeSamples": [_sample(host, "-F upload=@car.jpg"), _sample(host, _LABELLED)],
    }


_LABELLED = "-F upload=@car.jpg -F regions=ru -F camera_id=gate-7 -H 'Authorization: Token KEY'"


def _body(picture: str, is_json: bool = False) -> Json:
    """Return the schema of a body.

    Args:
        picture: Format of the picture.
        is_json: Fields may be null or, where this makes sense, no text.
    """
    descriptions = {
        name: str(field.description) for name, field in SnapshotFields.model_fields.items()
    }
    fields = {
        name: schema | {"description": descriptions[name]} for name, schema in _texts().items()
    }
    if is_json:
        for name, types in _JSON_TYPES.items():
            description = fields[name].pop("description")
            fields[name] = {"anyOf": [fields[name], *types], "description": description}
    file = {"type": "string", "format": picture, "description": "The picture"}
    return {"type": "object", "properties": {UPLOAD: file} | fields, "required": [UPLOAD]}


def _texts() -> dict[str, Json]:
    """Return the schemas of the fields of a form, which are all text."""
    return {
        "camera_id": {"type": "string", "maxLength": MAX_CAMERA_ID_CHARACTERS},
        "timestamp": {"type": "string", "pattern": TIME},
        "config": {"type": "string"},
    }


_NULL = {"type": "null"}
_JSON_TYPES: dict[str, list[Json]] = {
    "camera_id": [{"type": "integer"}, _NULL],
    "timestamp": [_NULL],
    "config": [{"$ref": f"#/components/schemas/{EngineConfig.__name__}"}, _NULL],
}
"""The types that fields of JSON may have beside text."""


def _answer() -> Json:
    content = {
        "schema": {"$ref": f"#/components/schemas/{SnapshotAnswer.__name__}"},
        "examples": {"one": {"value": EXAMPLE}},
    }
    return {"description": str(SnapshotAnswer.__doc__), "content": {JSON: content}}


def _status(code: str) -> str:
    return "403" if code == "401" else code


def _failure(code: str) -> Json:
    """Return the description of a failed call, whose status at other addresses is `code`."""
    outcomes = PROBLEMS[code]
    response: dict[str, Any] = {
        "description": "; ".join(outcome.message for outcome in outcomes),
        "content": {
            JSON: {
                "schema": {"$ref": "#/components/schemas/SnapshotError"},
                "examples": {
                    outcome.reason.replace(" ", "_"): {"value": _error(_status(code), outcome)}
                    for outcome in outcomes
                },
            }
        },
    }
    if code in TRIED_LATER:
        response["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return response


def _error(status: str, outcome: Outcome) -> Json:
    return {"detail": outcome.message, "status_code": int(status)}


def _sample(host: str, arguments: str) -> Json:
    source = f"curl {arguments} '{host}{PATH}'"
    return {"lang": "Shell", "label": "curl", "source": source}
