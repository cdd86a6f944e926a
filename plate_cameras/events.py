"""Events of passes as JSON documents: the form in which sinks and the store's readers get them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from orchestrator.formats.regions import known_region
from orchestrator.formats.transliteration import native_text
from plate_cameras.passes import Pass, PassEvent

PREFIX = "pass."
"""Event types are `pass.agreed`, `pass.updated` and `pass.closed`."""


def to_document(event: PassEvent) -> dict[str, Any]:
    """Return an event as a JSON document, without pictures.

    Times are RFC 3339 in UTC; for a file's clock, they count from 1970-01-01.
    """
    return {
        "type": PREFIX + event.kind,
        "timestamp": to_rfc3339(event.passed.last_seen_s),
        "data": describe_pass(event.passed),
    }


def describe_pass(passed: Pass) -> dict[str, Any]:
    """Return what others need of a pass: its text, times, motion and the best frame's box."""
    best = passed.best.observation
    region = known_region(passed.text, passed.format)
    return {
        "id": passed.id,
        "camera": passed.camera,
        "progress": passed.progress,
        "first_seen": to_rfc3339(passed.first_seen_s),
        "last_seen": to_rfc3339(passed.last_seen_s),
        "clock": passed.clock,
        "text": passed.text,
        "text_native": native_text(passed.text, passed.format) or "",
        "text_score": round(passed.text_score, 4),
        "format": passed.format,
        "region_code": region.code if region else "",
        "region": region.name if region else "",
        "candidates": [
            {"text": text, "score": round(score, 4)} for text, score in passed.candidates
        ],
        "direction": passed.direction,
        "crossings": [
            {"line": crossing.line, "side": crossing.side, "time": to_rfc3339(crossing.time_s)}
            for crossing in passed.crossings
        ],
        "speed_widths_s": round(passed.speed_widths_s, 2),
        "zones": [*passed.zones],
        "frames": len(passed.observations),
        "best": {
            "time": to_rfc3339(best.time_s),
            "xyxy": [round(side, 1) for side in best.plate.xyxy],
            "width": passed.best.size_wh[0],
            "height": passed.best.size_wh[1],
        },
    }


def to_rfc3339(time_s: float) -> str:
    """Return a Unix time as RFC 3339 in UTC, with milliseconds."""
    at = datetime.fromtimestamp(time_s, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
