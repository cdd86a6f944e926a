"""The conditions under which a gate opens for a pass. Nothing here has a side effect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf

from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.relay import OpeningRequest
from plate_cameras.passes import OURS, Pass
from plate_cameras.setting_parts import Gate, is_watched
from plate_cameras.store.lists.list_lookup import ListHit, LoadedList
from plate_cameras.tracking.looks import best_text

MIN_AGREEING = 2
"""Number of frames whose own reading is the text of the pass."""
OLDEST_FRAME_S = 10.0
"""Greatest age of the last frame that shows the vehicle. It may have left since an older one. A
camera whose picture stands still is looked at every 10 seconds."""

MAX_COMMAND_WAIT_S = 10.0
"""Longest time that a person's command waits for its turn."""


@dataclass
class PresentPass:
    """A pass whose vehicle was not seen to leave.

    Attributes:
        vehicle_pass: The pass after its last event.
        seen_s: Steady time of the last frame that shows it.
        settled_text: The text on which two frames have agreed; empty after another text came.
        readable_s: Steady time from which the delay counts; None if it is not known.
        reasons: Gates, texts and reasons that were recorded, so that each is recorded once.
    """

    vehicle_pass: Pass
    seen_s: float = -inf
    settled_text: str = ""
    readable_s: float | None = None
    reasons: set[tuple[str, str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Circumstances:
    """The circumstances of a decision, other than the gate and the vehicle.

    Attributes:
        steady_s: The steady time.
        unix_s: The Unix time, for the validity of entries.
        local: The local time, for schedules.
        lists: The gate's lists.
        blocked_lists: The lists whose plates never open it. If one is missing, no plate opens it.
        lists_age_s: Time since the lists were read.
        hold_offs: The last openings.
    """

    steady_s: float
    unix_s: float
    local: datetime
    lists: Iterable[LoadedList]
    lists_age_s: float
    hold_offs: HoldOffs
    blocked_lists: Collection[LoadedList] = ()


@dataclass(frozen=True)
class Decision:
    """Tells whether a gate may open for a vehicle at one moment.

    Attributes:
        code: Code of the reason against opening; empty if the gate may open. See `REASONS`.
        values: The values of the reason's sentence.
        hit: The entry that the plate matches; None if it matches no list of this gate.
    """

    code: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    hit: ListHit | None = None

    @property
    def opens(self) -> bool:
        return not self.code

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return to_sentence(self.code, **self.values) if self.code else ""


LEFT = Decision("left")
"""The decision for a vehicle that is not present."""


def decide(gate: Gate, present: PresentPass, now: Circumstances) -> Decision:
    """Decide whether a gate may open for a vehicle now.

    This is the only place that decides, and it is asked directly before each request to a relay.
    """
    vehicle_pass = present.vehicle_pass
    if not vehicle_pass.text or vehicle_pass.text != present.settled_text:
        return LEFT
    if not is_in_place(gate, vehicle_pass):
        return Decision("moved")
    if now.hold_offs.has_asked(gate, vehicle_pass.id):
        return Decision("asked")
    hit = find_hit(gate, now.lists, vehicle_pass.text, now.unix_s)
    if hit is None:
        return Decision("unlisted")
    code, values = _find_obstacle(gate, present, hit, now)
    return Decision(code, values, hit)


def decide_command(
    gate: Gate, request: OpeningRequest, hold_offs: HoldOffs, steady_s: float
) -> Decision:
    """Decide whether a gate may open for a person's command now.

    The person sees the vehicle, so no other condition counts. But a command is for this moment:
    somebody else may stand before the gate soon. So nothing opens the gate again for a vehicle for
    which it was open when the command was taken.
    """
    if steady_s - request.taken_s > MAX_COMMAND_WAIT_S:
        return Decision("late")
    if hold_offs.is_open_for(gate, request.pass_id, request.taken_s):
        return Decision("asked")
    return Decision()


def _find_obstacle(
    gate: Gate, present: PresentPass, hit: ListHit, now: Circumstances
) -> tuple[str, Mapping[str, str]]:
    """Return the reason why a gate does not open for a vehicle of its lists; empty if it does."""
    vehicle_pass = present.vehicle_pass
    if any(each.blocks(vehicle_pass.text, now.unix_s) for each in now.blocked_lists):
        return "blocked", {}
    if missing_names := {*gate.blocked_lists} - {each.name for each in now.blocked_lists}:
        return "no_blocked_list", {"name": min(missing_names)}
    if not is_watched(gate.schedule, now.local):
        return "schedule", {}
    if now.lists_age_s > gate.stale_lists_s:
        return "stale_lists", {"age_s": f"{gate.stale_lists_s:g}"}
    if vehicle_pass.text_score < gate.agreement_threshold:
        return "score", {"threshold": f"{gate.agreement_threshold:g}"}
    ago_s = now.hold_offs.opened_ago_s(gate, (vehicle_pass.text, hit.entry.text), now.steady_s)
    if ago_s is not None:
        return "hold_off", {"ago_s": f"{ago_s:.0f}", "hold_off_s": f"{gate.hold_off_s:g}"}
    if now.steady_s - present.seen_s > OLDEST_FRAME_S:
        return "old_frame", {}
    return "", {}


def is_in_place(gate: Gate, vehicle_pass: Pass) -> bool:
    """Tell whether a vehicle is where the gate wants it, and moves as it wants."""
    if vehicle_pass.camera not in gate.cameras:
        return False
    if gate.zones and not set(gate.zones) & set(vehicle_pass.zones):
        return False
    if gate.direction and vehicle_pass.direction != gate.direction:
        return False
    return not gate.lines or _has_crossed(gate, vehicle_pass)


def is_settled(vehicle_pass: Pass, threshold: float) -> bool:
    """Tell whether a text may open a gate: two readings agree on it, and its score is high enough.

    One of them is the service's own: what a camera says is not in the picture. A pass that has
    agreed may change its text later. Then the new text must agree, too.
    """
    sources = [
        observation.source
        for observation in vehicle_pass.observations
        if best_text(observation.plate)[0] == vehicle_pass.text
    ]
    is_agreed = len(sources) >= MIN_AGREEING and OURS in sources
    return bool(vehicle_pass.text) and vehicle_pass.text_score >= threshold and is_agreed


def find_hit(gate: Gate, lists: Iterable[LoadedList], text: str, now_s: float) -> ListHit | None:
    """Return the entry of the gate's lists that opens it for a text.

    A text with one other character is the plate of another vehicle. So entries that allow edits
    open a gate for other texts only if its setting `fuzzy` says so.
    """
    hits = (_match(plate_list, text, now_s, fuzzy=gate.fuzzy) for plate_list in lists)
    return min(filter(None, hits), key=lambda hit: hit.edits, default=None)


def first_readable_s(vehicle_pass: Pass) -> float | None:
    """Return the steady time of the first frame that shows the text; None if it is not known."""
    if vehicle_pass.clock == "file" or vehicle_pass.last_moment_s is None:
        return None
    times = (
        observation.time_s
        for observation in vehicle_pass.observations
        if best_text(observation.plate)[0] == vehicle_pass.text
    )
    # Both times are of the stream's own clock, so their difference is a duration.
    since_s = vehicle_pass.last_seen_s - next(times, vehicle_pass.last_seen_s)
    return vehicle_pass.last_moment_s - max(since_s, 0.0)


def _has_crossed(gate: Gate, vehicle_pass: Pass) -> bool:
    """Tell whether the vehicle is beyond one of the lines: a vehicle may shunt."""
    last = {crossing.line: crossing.side for crossing in vehicle_pass.crossings}
    sides = [last[line] for line in gate.lines if line in last]
    return bool(sides) and (not gate.side or gate.side in sides)


def _match(plate_list: LoadedList, text: str, now_s: float, *, fuzzy: bool) -> ListHit | None:
    if fuzzy:
        return plate_list.match(text, now_s)
    entry = plate_list.exact.get(text)
    return ListHit(plate_list.name, entry, 0) if entry and entry.is_valid(now_s) else None
