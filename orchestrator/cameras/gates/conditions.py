"""The conditions under which a gate opens for a pass. Nothing here has a side effect."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.cameras.gate_settings import Gate
from orchestrator.cameras.passes import Pass
from orchestrator.cameras.store.list_lookup import ListHit, LoadedList
from orchestrator.cameras.tracking.looks import best_text

LEAST_AGREEING = 2
"""Number of frames whose own reading is the text of the pass."""
OLDEST_FRAME_S = {"wall": 10.0, "stream": 70.0}
"""Greatest age of the last frame, by its clock. The vehicle may have left since an older one. The
clock of a stream may be wrong by a minute. The age of a file's frame is not known."""


def is_in_place(gate: Gate, passed: Pass) -> bool:
    """Tell whether a vehicle is where the gate wants it, and moves as it wants."""
    if passed.camera not in gate.cameras:
        return False
    if gate.zones and not set(gate.zones) & set(passed.zones):
        return False
    if gate.direction and passed.direction != gate.direction:
        return False
    return not gate.lines or _has_crossed(gate, passed)


def is_settled(passed: Pass, threshold: float) -> bool:
    """Tell whether a text may open a gate: two frames agree on it, and its score is high enough.

    A pass that has agreed may change its text later. Then the new text must agree, too.
    """
    agreeing = sum(best_text(one.plate)[0] == passed.text for one in passed.observations)
    return bool(passed.text) and passed.text_score >= threshold and agreeing >= LEAST_AGREEING


def find_hit(gate: Gate, lists: Iterable[LoadedList], text: str, now_s: float) -> ListHit | None:
    """Return the entry of the gate's lists that opens it for a text.

    A text with one other character is the plate of another vehicle. So entries that allow edits
    open a gate for other texts only if its setting `fuzzy` says so.
    """
    hits = (one.match(text, now_s) for one in lists)
    found = [hit for hit in hits if hit and (gate.fuzzy or not hit.edits)]
    return min(found, key=lambda hit: hit.edits, default=None)


def is_recent(passed: Pass, now_s: float) -> bool:
    """Tell whether the vehicle was seen a moment ago."""
    oldest_s = OLDEST_FRAME_S.get(passed.clock)
    return oldest_s is None or now_s - passed.last_seen_s <= oldest_s


def first_readable_s(passed: Pass) -> float | None:
    """Return the Unix time of the first frame that shows the text; None for a file."""
    times = (one.time_s for one in passed.observations if best_text(one.plate)[0] == passed.text)
    return None if passed.clock == "file" else next(times, passed.last_seen_s)


def _has_crossed(gate: Gate, passed: Pass) -> bool:
    """Tell whether the vehicle is beyond one of the lines: a vehicle may shunt."""
    last = {one.line: one.side for one in passed.crossings}
    sides = [last[line] for line in gate.lines if line in last]
    return bool(sides) and (not gate.side or gate.side in sides)
