"""A pass as rows of the tables."""

from __future__ import annotations

from collections.abc import Mapping

from plate_cameras.passes import (
    Pass,
    flatten,
    round_box,
    round_scores,
    to_document,
    to_rfc3339,
)
from plate_cameras.store.errors import RejectedValue
from plate_cameras.store.lists.list_lookup import ListHit
from plate_cameras.store.tables.row_batches import Row
from plate_cameras.store.tables.store_clock import Moment
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.pictures import digest_of

DAY_S = 86400.0


def to_pass_row(event: AddressedEvent) -> Row:
    """Return the row of a pass.

    Raises:
        RejectedValue: Its times are in no calendar. No page that has it could be shown.
    """
    vehicle_pass, claim = event.vehicle_pass, event.claim
    best = vehicle_pass.best
    times_s = vehicle_pass.first_seen_s - DAY_S, vehicle_pass.last_seen_s + DAY_S
    try:  # with a day for the zones of people
        [*map(to_rfc3339, times_s)]
    except (ValueError, OverflowError, OSError) as error:
        raise RejectedValue(f"wanted times of the years 1 to 9999, got {times_s}") from error
    return flatten(vehicle_pass) | {
        "stored_s": event.stored_s,
        "crop": _digest_of(best.crop_jpeg, best.stored_crop),
        "frame": _digest_of(best.frame_jpeg, best.stored_frame),
        "epoch": claim.epoch if claim else None,
        "run": event.run,
    }


def _digest_of(jpeg: bytes, stored_digest: str | None) -> bytes | None:
    """Return the hash of a picture, or of one that the store has; None without either."""
    if jpeg:
        return digest_of(jpeg)
    return bytes.fromhex(stored_digest) if stored_digest else None


def to_reading_rows(vehicle_pass: Pass, number: int) -> list[Row]:
    """Return the rows of a pass's readings, in their order."""
    return [
        {
            "pass_number": number,
            "position": position,
            "time_s": observation.time_s,
            "text": observation.plate.text,
            "score": observation.plate.text_score,
            "candidates": round_scores(observation.plate.candidates),
            "box": round_box(observation.plate),
            "sharpness": observation.sharpness,
            "weight": observation.weight,
            "source": observation.source,
        }
        for position, observation in enumerate(vehicle_pass.observations)
    ]


def to_zone_rows(vehicle_pass: Pass, number: int) -> list[Row]:
    """Return the rows of the zones in which a pass was seen."""
    return [
        {"pass_number": number, "zone": zone, "first_seen_s": vehicle_pass.first_seen_s}
        for zone in dict.fromkeys(vehicle_pass.zones)
    ]


def to_hit_rows(vehicle_pass: Pass, number: int, hits: Mapping[int, ListHit]) -> list[Row]:
    """Return the rows of a pass's hits in lists."""
    return [
        {
            "pass_number": number,
            "list_id": list_id,
            "entry_text": hit.entry.text,
            "note": hit.entry.note,
            "edits": hit.edits,
            "first_seen_s": vehicle_pass.first_seen_s,
        }
        for list_id, hit in hits.items()
    ]


def describe_hits(hits: Mapping[int, ListHit]) -> list[Row]:
    """Return hits for an event's document."""
    return [
        {"list": hit.list, "text": hit.entry.text, "note": hit.entry.note, "edits": hit.edits}
        for hit in hits.values()
    ]


def to_delivery_rows(
    event: AddressedEvent, number: int, now: Moment, hits: Mapping[int, ListHit]
) -> list[Row]:
    """Return a row for each sink that gets the event. All of its times are the store's."""
    document = to_document(event.event)
    document["data"]["lists"] = describe_hits(hits)
    common = {"id": event.id, "pass_number": number, "state": "waiting", "attempts": 0}
    created_s = now.to_kept_s(event.stored_s)
    due_s = created_s if now.kept_s is None else now.kept_s
    times = {"created_s": created_s, "kept_s": now.kept_s, "due_s": due_s, "reason": ""}
    return [{**common, **times, "sink": sink, "document": document} for sink in event.sinks]
