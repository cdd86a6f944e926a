"""Compares the answers of all servers before they are measured: texts and boxes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import tritonclient.http

from orchestrator.errors import ModelError
from orchestrator.plates import Plate, Plates
from workshop.benchmarks.gpu_check import differ
from workshop.benchmarks.load.connections import Reply

BOX_PX = 0.1
"""The tolerance between boxes: batches and threads add numbers up in another order."""


def read_kserve(reply: Reply) -> Plates:
    """Read the plates of a KServe response over HTTP."""
    parse = tritonclient.http.InferenceServerClient.parse_response_body
    result: Any = parse(reply.content, header_length=reply.json_bytes)
    texts = [text.decode() for text in result.as_numpy("texts").ravel().tolist()]
    return to_plates(zip(texts, result.as_numpy("coordinates").tolist(), strict=True))


def read_rest(reply: Reply) -> Plates:
    """Read the plates of the only picture in an answer of the gateway's REST API."""
    (picture,) = json.loads(reply.content)["pictures"]
    return _read_plates(picture)


def read_peer(reply: Reply) -> Plates:
    """Read the plates of a peer's answer."""
    return _read_plates(json.loads(reply.content))


def _read_plates(answer: Mapping[str, Any]) -> Plates:
    return to_plates((plate["text"], plate["xyxy"]) for plate in answer["plates"])


def to_plates(readings: Iterable[tuple[str, Iterable[float]]]) -> Plates:
    """Return plates with the compared parts alone: texts, and boxes in pixels of the picture."""
    return Plates(tuple(Plate(tuple(box), text=text) for text, box in readings))  # type: ignore[arg-type]  # four sides


def check_alike(picture: str, wanted: Plates, got: Mapping[str, Plates]) -> None:
    """Check that every server answers a picture as the pipeline in process does.

    Raises:
        ModelError: A server answers otherwise.
    """
    alike = to_plates((plate.text, plate.xyxy) for plate in wanted)
    for server, plates in got.items():
        if differences := differ(alike, plates, BOX_PX):
            raise ModelError(f"{server}, {picture}: {differences[0]}")
