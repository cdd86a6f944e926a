"""Compares the answers of all servers before they are measured: texts and boxes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import tritonclient.http

from orchestrator.errors import ModelError
from workshop.benchmarks.load.connections import Reply

BOX_PX = 0.1
"""The tolerance between boxes: batches and threads add numbers up in another order."""
Box = tuple[float, ...]


class Reading(NamedTuple):
    """The compared part of a plate: its text, and its box in pixels of the picture."""

    text: str
    xyxy: Box


Answer = tuple[Reading, ...]
"""The plates of a picture, in the order of the answer."""


def read_kserve(reply: Reply) -> Answer:
    """Read the plates of a KServe response over HTTP."""
    parse = tritonclient.http.InferenceServerClient.parse_response_body
    result: Any = parse(reply.content, header_length=reply.json_bytes)
    texts = [text.decode() for text in result.as_numpy("texts").ravel().tolist()]
    boxes = result.as_numpy("coordinates").tolist()
    return tuple(Reading(text, tuple(box)) for text, box in zip(texts, boxes, strict=True))


def read_rest(reply: Reply) -> Answer:
    """Read the plates of the only picture in an answer of the gateway's REST API."""
    (picture,) = json.loads(reply.content)["pictures"]
    return _read_plates(picture)


def read_peer(reply: Reply) -> Answer:
    """Read the plates of a peer's answer."""
    return _read_plates(json.loads(reply.content))


def _read_plates(answer: Mapping[str, Any]) -> Answer:
    return tuple(Reading(plate["text"], tuple(plate["xyxy"])) for plate in answer["plates"])


def check_alike(picture: str, wanted: Answer, got: Mapping[str, Answer]) -> None:
    """Check that every server answers a picture as the pipeline in process does.

    Raises:
        ModelError: A server answers otherwise.
    """
    for server, answer in got.items():
        if difference := find_difference(wanted, answer):
            raise ModelError(f"{server}, {picture}: {difference}")


def find_difference(wanted: Answer, got: Answer) -> str:
    """Describe the first difference of two answers; empty when they are alike."""
    if len(wanted) != len(got):
        return f"wanted {len(wanted)} plates, got {len(got)}"
    for reading, other in zip(wanted, got, strict=True):
        if reading.text != other.text:
            return f"wanted the text {reading.text!r}, got {other.text!r}"
        if _distance_px(reading.xyxy, other.xyxy) > BOX_PX:
            return f"{reading.text or 'a plate'}: wanted the box {reading.xyxy}, got {other.xyxy}"
    return ""


def _distance_px(box: Iterable[float], other: Iterable[float]) -> float:
    return max(abs(a - b) for a, b in zip(box, other, strict=True))
