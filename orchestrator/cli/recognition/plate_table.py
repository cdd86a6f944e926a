"""The plates of a picture as a table for people, in plain words."""

from __future__ import annotations

from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.cli.recognition.watchlist import Hit
from orchestrator.plates import Plate

UNREAD = "?"
LINE = "  {:<10} {:>5}  {:<16} {:>6} {:>6} {:>6} {:>6}  {}".format
HEAD = LINE("plate", "score", "kind", "left", "top", "right", "bottom", "").rstrip()
SHORT = 3
"""Texts with fewer characters do not count as readings."""


def to_table(entry: Entry) -> str:
    """Return the name of a picture and a row for each of its plates, best detection first.

    The score is the probability of the text, from 0 to 1; the sides of the box are in pixels.
    """
    name = to_printable(entry.picture)
    if not entry.plates:
        return f"{name}: no plates"
    count = "1 plate" if len(entry.plates) == 1 else f"{len(entry.plates)} plates"
    hits = entry.hits or (None,) * len(entry.plates)
    rows = [_to_row(plate, hit) for plate, hit in zip(entry.plates, hits, strict=True)]
    return "\n".join([f"{name}: {count}", HEAD, *rows])


def to_printable(text: str) -> str:
    """Return a text without terminal control characters, which a file name may contain."""
    return "".join(letter if letter.isprintable() else UNREAD for letter in text)


def _to_row(plate: Plate, hit: Hit | None) -> str:
    box = (round(side) for side in plate.xyxy)
    score = f"{plate.text_score:.2f}"
    notes = [*([] if plate.text else [why_unread(plate)]), *([_to_note(hit)] if hit else [])]
    return LINE(plate.text or UNREAD, score, plate.format or "-", *box, "; ".join(notes)).rstrip()


def why_unread(plate: Plate) -> str:
    """Say why a plate's text is not shown, and its likely text."""
    if plate.candidates:
        return f"not sure enough to say, maybe {plate.candidates[0][0]}"
    if len(plate.raw_text) < SHORT:
        return "cannot be read: too small, blurred or covered"
    return f"looks like {plate.raw_text}, which no known kind of plate says"


def _to_note(hit: Hit) -> str:
    about = f" ({hit.note})" if hit.note else ""
    nearly = {0: "", 1: ", 1 character differs"}.get(
        hit.distance, f", {hit.distance} characters differ"
    )
    return to_printable(f"ON THE WATCHLIST: {hit.plate}{nearly}{about}")
