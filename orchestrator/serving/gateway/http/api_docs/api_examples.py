"""Examples in the API's description: its parameters, its refusals and an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.formats.transliteration import to_cyrillic
from orchestrator.serving.gateway.errors import FAILED, Outcome
from orchestrator.serving.gateway.http.labels import MAX_CAMERA_ID_CHARACTERS, TIMESTAMP
from orchestrator.serving.gateway.http.problem_details import problem
from orchestrator.serving.gateway.http.rest import FILE

Json = dict[str, Any]

PICTURES = ("image/jpeg", "image/png", "image/webp", "image/bmp", FILE)
"""Content types of a picture."""

PARAMETERS: Mapping[str, tuple[str, Json, str]] = {
    "detection_threshold": (
        "Minimum detection score of a plate",
        {"type": "number", "minimum": 0, "maximum": 1},
        "0.5",
    ),
    "text_threshold": (
        'Minimum text score; below it `text` is ""',
        {"type": "number", "minimum": 0, "maximum": 1},
        "0.9",
    ),
    "max_plates": (
        "Maximum number of plates in a picture; the surest detections stay",
        {"type": "integer", "minimum": 1, "maximum": 1000},
        "10",
    ),
    "detector_side_px": (
        "Longest side of the detector's input; a larger picture is scaled down to it, and its "
        "small plates may be missed",
        {"type": "integer", "minimum": 32, "maximum": 4096, "multipleOf": 32},
        "1280",
    ),
    "roi": (
        "Where to look: `x0,y0,x1,y1` in picture pixels, x0 < x1 and y0 < y1; plates whose "
        "middle lies there count, and are read whole. The whole picture when left out",
        {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?(,-?[0-9]+(\.[0-9]+)?){3}$"},
        "0,400,1920,1080",
    ),
}
"""Description, schema and an example of each request parameter; Settings judges their values."""

LABELS: Mapping[str, tuple[str, Json, str]] = {
    "camera_id": (
        "Names the camera; the answer repeats it. A form's field takes precedence over the query",
        {"type": "string", "maxLength": MAX_CAMERA_ID_CHARACTERS},
        "gate-7",
    ),
    "timestamp": (
        "When the picture was taken, an ISO 8601 time; the answer repeats it. The day must exist. "
        "In a query, `+` is written `%2B`",
        {"type": "string", "pattern": TIMESTAMP},
        "2026-05-17T09:30:00+03:00",
    ),
}
"""Parameters for the caller's labels, in the query or in the form; those of the form go first."""

PROBLEMS: Mapping[str, tuple[Outcome, ...]] = {
    "400": (
        Outcome(400, "INVALID_ARGUMENT", "picture", "encoded_image: damaged picture"),
        Outcome(
            400, "INVALID_ARGUMENT", "parameter", "detection_threshold: wanted 0 to 1, got 2.0"
        ),
        Outcome(
            400, "INVALID_ARGUMENT", "form", "form: wanted 1 to 16 fields named picture, got none"
        ),
    ),
    "401": (Outcome(401, "UNAUTHENTICATED", "key", "wanted a valid key, got none"),),
    "408": (Outcome(408, "DEADLINE_EXCEEDED", "slow", "body: wanted within 30 s, got a part"),),
    "411": (Outcome(411, "INVALID_ARGUMENT", "encoding", "wanted Content-Length, got none"),),
    "413": (Outcome(413, "RESOURCE_EXHAUSTED", "size", "body: wanted up to 80 MiB, got 90 MiB"),),
    "415": (
        Outcome(415, "UNIMPLEMENTED", "encoding", "content type: wanted image/*, got text/plain"),
    ),
    "429": (Outcome(429, "RESOURCE_EXHAUSTED", "rate", "wanted up to 200 calls a second", 1),),
    "500": (Outcome(500, "INTERNAL", "internal", FAILED),),
    "503": (
        Outcome(503, "UNAVAILABLE", "full", "wanted up to 64 calls that wait, got one more", 1),
        Outcome(503, "UNAVAILABLE", "away", "the service is away for a moment; try again", 1),
        Outcome(503, "UNAVAILABLE", "not ready", "no canary picture was read lately", 1),
    ),
    "504": (Outcome(504, "DEADLINE_EXCEEDED", "late", "wanted an answer within 60 s, got none"),),
}
"""Outcomes as examples, by their status."""
TRIED_LATER = ("429", "503")

READING = {
    "text": "A123BC77",
    "text_native": to_cyrillic("A123BC77"),
    "text_score": 0.97,
    "raw_text": "A123BC77",
    "character_scores": [0.99, 1.0, 1.0, 0.98, 1.0, 0.99, 1.0, 1.0],
    "candidates": [{"text": "A123BC77", "score": 0.97}, {"text": "A128BC77", "score": 0.01}],
    "format": "ru_car",
    "region": {"code": "77", "name": "Moscow"},
}
PLATE = READING | {
    "xyxy": [412.0, 300.5, 520.0, 326.5],
    "detection_score": 0.93,
    "corners": [[413.0, 302.0], [519.0, 300.5], [519.5, 325.0], [412.5, 326.5]],
}
SECONDS = {
    "picture": 0.018,
    "letterbox": 0.002,
    "yolo": 0.024,
    "crops": 0.001,
    "stn": 0.003,
    "lprnet": 0.006,
    "texts": 0.001,
}
SIZE = {"width": 1280, "height": 720}
RECOGNIZED = {"name": "", **SIZE, "plates": [PLATE], "seconds": SECONDS}
EMPTY = {
    "name": "",
    **SIZE,
    "plates": [],
    "seconds": SECONDS | {"stn": 0.0, "lprnet": 0.0, "texts": 0.0},
}
READ = {"name": "", "width": 160, "height": 48, "plate": READING}
CALL = {"request_id": "gate-7-000123", "time": "2026-05-17T06:30:00.412+00:00"}
LABELLED = CALL | {name: example for name, (_, _, example) in LABELS.items()}
"""Fields of an answer about its call, without the caller's labels and with them."""
FAILED_PICTURE = {"name": "notes.txt", "problem": problem(PROBLEMS["400"][0])}
