"""The description of `/v1/vision/alpr`, a part of the OpenAPI document."""

from __future__ import annotations

from orchestrator.serving.gateway.http.api_docs.api_examples import (
    PICTURES,
    PROBLEMS,
    TRIED_LATER,
    Json,
)
from orchestrator.serving.gateway.http.rest import FORM
from orchestrator.serving.gateway.http.vision_api.vision import MIN_CONFIDENCE, PATH
from orchestrator.serving.gateway.http.vision_api.vision_schemas import VisionAnswer, VisionError

JSON = "application/json"
EXAMPLE: Json = {
    "success": True,
    "code": 200,
    "predictions": [
        {
            "confidence": 0.97,
            "label": "A123BC77",
            "plate": "A123BC77",
            "x_min": 412,
            "y_min": 300,
            "x_max": 520,
            "y_max": 326,
        }
    ],
    "message": "A123BC77",
    "inferenceMs": 55,
    "processMs": 55,
    "moduleId": "ALPR",
    "command": "alpr",
}


def operation(host: str) -> Json:
    """Return the description of the call.

    Args:
        host: Scheme, host and port of the examples.
    """
    arguments = "-F upload=@car.jpg -F min_confidence=0.8"
    return {
        "operationId": "visionAlpr",
        "tags": ["pictures"],
        "summary": "Read one picture, for clients of CodeProject.AI",
        "description": "Takes and answers the fields of CodeProject.AI's license plate reader, "
        "so Blue Iris and others only change their address. Only plates that were read are "
        "answered. The picture may also be in the field `image`; unknown fields are ignored.",
        "parameters": [{"$ref": "#/components/parameters/request_id"}],
        "requestBody": {
            "required": True,
            "description": "One picture",
            "content": {
                FORM: {
                    "schema": _body(),
                    "encoding": {"upload": {"contentType": ", ".join(PICTURES)}},
                }
            },
        },
        "responses": {"200": _answer(), **{code: _failure(code) for code in PROBLEMS}},
        "x-codeSamples": [
            {"lang": "Shell", "label": "curl", "source": f"curl {arguments} '{host}{PATH}'"}
        ],
    }


def _body() -> Json:
    score = {
        "type": "string",
        "pattern": r"^(0(\.[0-9]+)?|1(\.0+)?)$",
        "description": "Minimum text score of a plate in the answer, 0 to 1",
    }
    file = {"type": "string", "format": "binary", "description": "The picture"}
    properties = {"upload": file, MIN_CONFIDENCE: score}
    return {"type": "object", "properties": properties, "required": ["upload"]}


def _answer() -> Json:
    content = {
        "schema": {"$ref": f"#/components/schemas/{VisionAnswer.__name__}"},
        "examples": {"one": {"value": EXAMPLE}},
    }
    return {"description": str(VisionAnswer.__doc__), "content": {JSON: content}}


def _failure(code: str) -> Json:
    outcomes = PROBLEMS[code]
    content = {
        "schema": {"$ref": f"#/components/schemas/{VisionError.__name__}"},
        "examples": {
            outcome.reason.replace(" ", "_"): {
                "value": {"success": False, "error": outcome.message, "code": int(code)}
            }
            for outcome in outcomes
        },
    }
    response: Json = {
        "description": "; ".join(outcome.message for outcome in outcomes),
        "content": {JSON: content},
    }
    if code in TRIED_LATER:
        response["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return response
