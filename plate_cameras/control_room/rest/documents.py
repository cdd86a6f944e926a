"""Passes, openings and cameras of the store as answers of the REST API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from plate_cameras.configuration import Camera
from plate_cameras.control_room.rest.schemas import (
    CameraAnswer,
    Opening,
    PassFields,
    PassReading,
    PassWithReadings,
)
from plate_cameras.gates.reasons import read_reason, to_sentence
from plate_cameras.passes import describe_candidates, describe_row, to_rfc3339
from plate_cameras.store.finding.pass_query import FoundPass, PassDetails, StoredHit, StoredReading
from plate_cameras.store.openings.gate_openings import BEGUN, OPENED, UNKNOWN, GateOpening
from plate_cameras.store.writing.live_tables import Areas, CameraState, DrawnAreas

COUNTS = ("frames", "plates", "passes", "dropped", "reconnects")
SHARED_FIELDS = tuple(name for name in Opening.model_fields if name in GateOpening.__annotations__)
"""Fields that the store and the API have in the same form."""


def to_pass(found_pass: FoundPass, hits: Sequence[StoredHit]) -> PassFields:
    """Return a stored pass as the API shows it."""
    return PassFields.model_validate(_fields(found_pass, hits), strict=False)


def to_details(details: PassDetails, openings: Sequence[GateOpening]) -> PassWithReadings:
    """Return a stored pass with its readings and openings."""
    best_s = details.found_pass.best["time_s"]
    return PassWithReadings.model_validate(
        _fields(details.found_pass, details.hits)
        | {
            "readings": tuple(_to_reading(reading, best_s) for reading in details.readings),
            "openings": tuple(map(to_opening, openings)),
            "neighbours": tuple(to_pass(neighbour, ()) for neighbour in details.neighbours),
        },
        strict=False,
    )


def to_opening(opening: GateOpening) -> Opening:
    """Return an opening of a gate as the API shows it."""
    if opening.outcome == BEGUN:
        opening = replace(opening, outcome=UNKNOWN, reason=to_sentence("begun"))
    reason = None if opening.outcome == OPENED else read_reason(opening.reason)
    return Opening(
        **{name: getattr(opening, name) for name in SHARED_FIELDS},
        reason_code=reason.code if reason else "",
        reason_values=dict(reason.values) if reason else {},
        time=to_rfc3339(opening.requested_s),
    )


def to_camera(
    camera: Camera,
    state: CameraState | None,
    drawn_areas: DrawnAreas | None,
    still_s: float | None,
    *,
    is_fresh: bool,
) -> CameraAnswer:
    """Return a camera as the API shows it.

    Args:
        camera: Its configuration, with the areas that hold now.
        state: The last state that its watcher has reported.
        drawn_areas: The areas that were drawn for it.
        still_s: Unix time of its still.
        is_fresh: True if the watcher has reported lately; otherwise the state is `unknown`.
    """
    state_fields = _state_fields(state, is_fresh=is_fresh)
    problem = drawn_areas.problem if drawn_areas else ""
    return CameraAnswer.model_validate(
        {
            "name": camera.name,
            "group": camera.group,
            "lists": camera.lists,
            **state_fields,
            "error": state_fields["error"] or problem,
            **vars(Areas.of(camera)),
            "areas_from": "page" if drawn_areas and not problem else "file",
            "still": None
            if still_s is None
            else f"/v1/cameras/{quote(camera.name, safe='')}/still.jpg",
            "still_time": None if still_s is None else to_rfc3339(still_s),
        }
    )


def _fields(found_pass: FoundPass, hits: Sequence[StoredHit]) -> dict[str, Any]:
    fields = describe_row(vars(found_pass))
    picture_fields = {"part": found_pass.best.get("part"), "blur": found_pass.best.get("blur", "")}
    return fields | {
        "best": fields["best"] | picture_fields,
        "stored": to_rfc3339(found_pass.stored_s),
        "lists": [vars(hit) for hit in hits],
        "crop": _picture(found_pass, "crop"),
        "frame": _picture(found_pass, "frame"),
    }


def _picture(found_pass: FoundPass, kind: str) -> str | None:
    return (
        f"/v1/passes/{quote(found_pass.id, safe='')}/{kind}.jpg"
        if getattr(found_pass, kind)
        else None
    )


def _to_reading(reading: StoredReading, best_s: float) -> PassReading:
    return PassReading.model_validate(
        {
            "time": to_rfc3339(reading.time_s),
            "text": reading.text,
            "score": round(reading.score, 4),
            "candidates": tuple(describe_candidates(reading.candidates)),
            "xyxy": reading.box,
            "sharpness": round(reading.sharpness, 4),
            "weight": round(reading.weight, 4),
            "source": reading.source,
            "is_best": reading.time_s == best_s and not reading.source,
        }
    )


def _state_fields(state: CameraState | None, *, is_fresh: bool) -> dict[str, Any]:
    report: Mapping[str, Any] = state.document if state else {}
    try:
        fields = _read_report(report)
    except (TypeError, ValueError, OverflowError) as error:
        fields = _read_report({"error": f"its state cannot be read by this version: {error}"})
    return {
        **fields,
        "state": fields["state"] if is_fresh else "unknown",
        "watcher": state.watcher if state else "",
        "updated": to_rfc3339(state.updated_s) if state else None,
    }


def _read_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a report, which a watcher of another version may have written.

    Raises:
        TypeError: A value is of another kind.
        ValueError: A value is no number.
        OverflowError: A number is infinite.
    """
    return {
        "state": str(report.get("state", "unknown")),
        **{name: int(report.get(name, 0)) for name in COUNTS},
        "dropped_share": round(float(report.get("dropped_share", 0.0)), 4),
        "delay_s": round(float(report.get("delay_s", 0.0)), 3),
        "error": str(report.get("error", "")),
    }
