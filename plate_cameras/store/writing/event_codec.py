"""Events as bytes, pictures included, for the files of the spool.

A file holds one line of JSON, which tells the lengths of the pictures, and then the pictures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from orchestrator.plates import Plate, PlateRegion
from plate_cameras.passes import (
    BestFrame,
    LeaseClaim,
    LineCrossing,
    Observation,
    Pass,
    PassEvent,
)
from plate_cameras.store.errors import RejectedValue
from plate_cameras.store.writing.addressed_events import AddressedEvent

JsonObject = Mapping[str, Any]
PICTURES = ("crop_jpeg", "frame_jpeg")


def encode(addressed: AddressedEvent) -> bytes:
    """Return an event as the content of a file."""
    table = asdict(addressed)
    best = table["event"]["passed"]["best"]
    pictures = [best.pop(name) for name in PICTURES]
    table["lengths"] = [len(picture) for picture in pictures]
    return b"\n".join((json.dumps(table).encode(), b"".join(pictures)))


def decode(content: bytes) -> AddressedEvent:
    """Return the event of a file.

    Raises:
        RejectedValue: The file is damaged.
    """
    line, _, pictures = content.partition(b"\n")
    try:
        table = json.loads(line)
        crop, frame = table["lengths"]
        if len(pictures) != crop + frame:
            raise ValueError(f"wanted {crop + frame} bytes of pictures, got {len(pictures)}")
        event = table["event"]
        passed = _to_pass(event["passed"], pictures[:crop], pictures[crop:])
        sinks = tuple(table["sinks"])
        claim = LeaseClaim(**event["claim"]) if event.get("claim") else None
        told = PassEvent(event["kind"], passed, claim)
        return AddressedEvent(told, sinks, table["stored_s"], table.get("run", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedValue(f"a file of the spool is damaged: {error}") from error


def _to_pass(table: JsonObject, crop_jpeg: bytes, frame_jpeg: bytes) -> Pass:
    best = table["best"]
    return Pass(
        **{
            **table,
            "candidates": _pairs(table["candidates"]),
            "crossings": tuple(LineCrossing(**crossing) for crossing in table["crossings"]),
            "zones": tuple(table["zones"]),
            "observations": tuple(map(_to_observation, table["observations"])),
            "best": BestFrame(
                _to_observation(best["observation"]),
                tuple(best["size_wh"]),
                crop_jpeg,
                frame_jpeg,
                _pairs(best["others"]),
            ),
        }
    )


def _to_observation(table: JsonObject) -> Observation:
    return Observation(**{**table, "plate": _to_plate(table["plate"])})


def _to_plate(table: JsonObject) -> Plate:
    region = table["region"]
    return Plate(
        **{
            **table,
            "xyxy": tuple(table["xyxy"]),
            "character_scores": tuple(table["character_scores"]),
            "candidates": _pairs(table["candidates"]),
            "corners": _pairs(table["corners"]),
            "region": PlateRegion(**region) if region else None,
        }
    )


def _pairs(values: Any) -> tuple[Any, ...]:
    return tuple(tuple(pair) for pair in values)
