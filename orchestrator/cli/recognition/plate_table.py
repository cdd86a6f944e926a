"""The plates of all pictures as one table for people, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.cli.recognition.watchlist import Hit
from orchestrator.plates import Plate

NO_KIND, UNREAD = "-", "?"
LINE = "{:<10} {:>5}  {:<16} {:>5} {:>5} {:>5} {:>6}  {}".format
SPANNING = "{:<59}  {}".format
HEAD = LINE("plate", "score", "format", "left", "top", "right", "bottom", "picture")
SHORT = 3
"""Texts with fewer characters do not count as readings."""


class PlateTable:
    """A table with a row for each plate, picture after picture, best detection first.

    The score is the probability of the text, from 0 to 1; the sides of the box are in pixels.
    Plates without a text are only counted, but those on the watchlist are shown.

    Args:
        is_all: Plates without a text have rows, too, with the reason.
    """

    def __init__(self, *, is_all: bool) -> None:
        self._is_all = is_all
        self._has_head = False

    def to_lines(self, entry: Entry) -> Iterator[str]:
        """Yield the rows of a picture, and the head before the first; a failed one has none."""
        if entry.error:
            return
        if not self._has_head:
            self._has_head = True
            yield HEAD
        rows = entry.choose_shown(is_all=self._is_all)
        name = to_printable(entry.picture)
        for plate, hit in rows:
            yield _to_row(plate, hit, name)
        if summary := _count_rest(entry, len(rows)):
            yield SPANNING(summary, name)


def to_printable(text: str) -> str:
    """Return a text without terminal control characters, which a file name may contain."""
    return "".join(letter if letter.isprintable() else UNREAD for letter in text)


def _count_rest(entry: Entry, row_count: int) -> str:
    """Return the number of a picture's plates that have no row, in words; empty if all have one."""
    if not entry.plates:
        return "no plates"
    count = len(entry.plates) - row_count
    if not count:
        return ""
    if row_count:
        return f"and {count} that cannot be read"
    return "1 plate that cannot be read" if count == 1 else f"{count} plates that cannot be read"


def _to_row(plate: Plate, hit: Hit | None, name: str) -> str:
    box = (round(side) for side in plate.xyxy)
    score = f"{plate.text_score:.2f}"
    row = LINE(plate.text or UNREAD, score, plate.format or NO_KIND, *box, name)
    notes = [*([] if plate.text else [why_unread(plate)]), *([_to_note(hit)] if hit else [])]
    return "  ".join([row, *(["; ".join(notes)] if notes else [])])


def why_unread(plate: Plate) -> str:
    """Return why a plate's text is not shown, and its likely text."""
    if plate.candidates:
        return f"not sure enough to say, maybe {plate.candidates[0][0]}"
    if len(plate.raw_text) < SHORT:
        return "cannot be read: too small, blurred or covered"
    return f"looks like {plate.raw_text}, which no known kind of plate says"


def _to_note(hit: Hit) -> str:
    note = f" ({hit.note})" if hit.note else ""
    difference = {0: "", 1: ", 1 character differs"}.get(
        hit.distance, f", {hit.distance} characters differ"
    )
    return to_printable(f"ON THE WATCHLIST: {hit.plate}{difference}{note}")
