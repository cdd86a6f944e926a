"""Reads rows of passes and of their readings, also damaged ones."""

from __future__ import annotations

from typing import Any

from plate_cameras.store.finding.pass_query import FoundPass, StoredReading
from plate_cameras.store.tables.json_values import (
    read_column,
    read_columns,
    to_best,
    to_box,
    to_count,
    to_crossings,
    to_digest,
    to_number,
    to_optional_number,
    to_pairs,
    to_place,
    to_share,
    to_text,
    to_texts,
    to_time,
)

NO_BOX = (0.0, 0.0, 0.0, 0.0)
NO_BEST = {"box": [*NO_BOX], "size_wh": [0, 0]}
"""Stands for the best frame of a pass if it cannot be read."""
COLUMNS = {
    **dict.fromkeys(("camera", "progress", "clock", "text"), (to_text, "")),
    **dict.fromkeys(("format", "region_code", "direction"), (to_text, "")),
    **dict.fromkeys(("first_seen_s", "last_seen_s", "stored_s"), (to_time, 0.0)),
    "text_score": (to_share, 0.0),
    "speed_widths_s": (to_number, 0.0),
    **dict.fromkeys(("speed_kmh", "speed_error_kmh"), (to_optional_number, None)),
    "frames": (to_count, 0),
    "candidates": (to_pairs, ()),
    "zones": (to_texts, ()),
    "crossings": (to_crossings, ()),
    **dict.fromkeys(("crop", "frame"), (to_digest, None)),
}
"""The columns of a pass, with the values that stand for damaged ones."""


def to_found_pass(row: Any) -> FoundPass:
    """Return a row of the table of passes as a pass. What is damaged of it is left out."""
    owner = f"pass {row['id']}"
    values = read_columns(owner, row, COLUMNS)
    best = read_column(owner, "best", row["best"], to_best)
    best = best or {"time_s": values["first_seen_s"], **NO_BEST}
    return FoundPass(number=row["number"], id=row["id"], best=best, **values)


def place_of(row: Any) -> tuple[float, int]:
    """Return the place of a row of passes on the pages, which go from great to small."""
    return to_place(row["first_seen_s"]), row["number"]


def cursor_after(row: Any) -> str:
    """Return the cursor of the page that begins after a row of passes."""
    time_s, number = place_of(row)
    return f"{time_s!r}_{number}"


READING_COLUMNS = {
    "time_s": (to_time, 0.0),
    "text": (to_text, ""),
    "score": (to_share, 0.0),
    "candidates": (to_pairs, ()),
    "box": (to_box, NO_BOX),
    **dict.fromkeys(("sharpness", "weight"), (to_number, 0.0)),
    "source": (to_text, ""),
}
"""The columns of a reading, with the values that stand for damaged ones."""


def to_reading(row: Any) -> StoredReading:
    """Return a row of the table of readings. What is damaged of it is left out."""
    owner = f"a reading of pass {row['pass_number']}"
    return StoredReading(**read_columns(owner, row, READING_COLUMNS))
