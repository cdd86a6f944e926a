"""Follows the vehicles of one camera, and makes the events of their passes.

The tracker has no clock and no input or output: the times are those of the frames. It counts in
moments (`Frame.moment_s`), which no step of a wall clock changes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import inf
from uuid import UUID

from orchestrator.formats.plate_formats import Formats, russian
from orchestrator.plates import Plates
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.passes import Pass, PassEvent, Progress
from plate_cameras.tracking.looks import Look, take_looks
from plate_cameras.tracking.matching import MOTION_S, OTHER_TEXT, compare_texts, is_expected, match
from plate_cameras.tracking.open_pass import OpenPass
from plate_cameras.tracking.plate_pixels import PlatePixels

GONE_S = 3.0
"""A vehicle that moved has left after this time without a look."""
GONE_FRAMES = 2.5
"""For cameras with few frames, this time as a multiple of the time between frames."""
STANDING_GONE_S = 20.0
"""A vehicle that stood has left after frames of this time without a look: others may hide it."""
MAX_INTERVAL_S = 2.0
"""Most time that one frame without a standing vehicle counts: the camera may rest in between."""
RESTING_S = 12.0
"""A longer time between frames is a rest of the camera: the slowest takes a frame in 10 seconds."""
INTERVAL_SHARE = 0.2
"""Share of the newest time between frames in the usual one."""
BACKWARDS_S = 5.0
"""Times of frames without a steady moment that jump back by more than this begin a new stream."""
MIN_AGREEING = 2
"""Number of frames that agree on the text of a pass."""
SINGLE_SCORE = 0.8
"""Smallest text score of a vehicle seen in one frame only; a fragment may be read by chance."""
UNREADABLE_LOOKS, UNREADABLE_S, UNREADABLE_DETECTION = 5, 1.0, 0.65
"""Smallest number of looks, duration and mean detection score of an unreadable vehicle."""
SAME_SCORE = 0.5
"""Smallest score of the texts of two passes that are one vehicle."""


def make_pass_id(time_s: float, number: int, bits: int | None = None) -> str:
    """Return a UUID of version 7, whose ids sort by time and number.

    Args:
        time_s: Unix time.
        number: Number of the pass; it decides the order of passes of the same millisecond.
        bits: The other bits; random ones if it is left out.

    Source: RFC 9562, section 5.7.
    """
    bits = secrets.randbits(62) if bits is None else bits & (1 << 62) - 1
    stamp = max(0, int(time_s * 1000)) & (1 << 48) - 1
    value = stamp << 80 | 7 << 76 | (number & 0xFFF) << 64 | 2 << 62 | bits
    return str(UUID(int=value))


class PassTracker:
    """Follows the vehicles of one camera.

    Args:
        formats: Formats of texts that the service did not name; Russia's when None.
        pixels: Access to the pixels of plates.
    """

    def __init__(
        self,
        camera: Camera,
        *,
        formats: Formats | None = None,
        pixels: PlatePixels | None = None,
        new_id: Callable[[float, int], str] = make_pass_id,
    ) -> None:
        self._camera = camera
        self._formats = formats or russian()
        self._pixels = pixels or PlatePixels()
        self._new_id = new_id
        self._open: list[OpenPass] = []
        self._visible_ids: tuple[str, ...] = ()
        self._pass_count = 0
        self._last_s: float | None = None
        self._learned_s = 0.0

    @property
    def open_passes(self) -> int:
        """Number of vehicles that are followed, those without a readable plate included."""
        return len(self._open)

    @property
    def visible_ids(self) -> tuple[str, ...]:
        """Ids of the passes that the last frame shows, provisional ones included."""
        return self._visible_ids

    @property
    def untold_ids(self) -> frozenset[str]:
        """Ids of the open passes of which no event was made yet."""
        return frozenset(open_pass.id for open_pass in self._open if not open_pass.is_told)

    def configure(self, camera: Camera) -> None:
        """Use other settings from the next frame on; open passes stay open."""
        self._camera = camera

    def update(self, frame: Frame, plates: Plates) -> list[PassEvent]:
        """Follow the plates of a frame. Return what has changed."""
        events: list[PassEvent] = []
        moment_s = frame.moment_s
        if self._goes_back(frame):
            events = self.close()
        elapsed_s = self._measure_time(moment_s)
        events += self._close_gone(moment_s)
        looks = take_looks(self._camera, frame, plates, self._pixels)
        visible_passes = self._merge(self._assign(looks, moment_s, elapsed_s))
        self._visible_ids = tuple(open_pass.id for open_pass in visible_passes)
        return events + self._close_gone(moment_s) + self._tell(visible_passes)

    def advance(self, moment_s: float) -> list[PassEvent]:
        """Close the passes of vehicles that have left. Update the passes at a time without a frame.

        Vehicles that stand stay open: a camera may send no frames while nothing moves.

        Args:
            moment_s: A moment, see `Frame.moment_s`.
        """
        return self._close_gone(moment_s)

    def close(self) -> list[PassEvent]:
        """Close all passes, at the end of a stream. The tracker can be used again."""
        events = self._end(self._open)
        self._open, self._last_s, self._learned_s = [], None, 0.0
        self._visible_ids = ()
        return events

    def _goes_back(self, frame: Frame) -> bool:
        """Tell whether a file begins anew. Steady moments do not go back."""
        if frame.steady_s is not None or self._last_s is None:
            return False
        return frame.time_s < self._last_s - BACKWARDS_S

    def _measure_time(self, time_s: float) -> float:
        """Return the time since the last frame, and learn the usual time between frames."""
        last_s = time_s if self._last_s is None else self._last_s
        elapsed_s = max(0.0, time_s - last_s)
        self._last_s = max(time_s, last_s)
        if 0 < elapsed_s < RESTING_S:
            share = INTERVAL_SHARE if self._learned_s else 1.0
            self._learned_s += (elapsed_s - self._learned_s) * share
        return elapsed_s

    @property
    def _interval_s(self) -> float:
        """Usual time between frames."""
        return max(self._learned_s, 1 / self._camera.looks_per_s)

    def _assign(self, looks: Sequence[Look], time_s: float, elapsed_s: float) -> list[OpenPass]:
        """Add looks to their passes, and open passes for the others; return these passes."""
        max_s = max(MOTION_S, 1.5 * self._interval_s)
        look_of_pass = dict(match(self._open, looks, time_s, max_s))
        visible_passes, missed_passes = list[OpenPass](), list[OpenPass]()
        for index, open_pass in enumerate(self._open):
            if index in look_of_pass:
                open_pass.add(looks[look_of_pass[index]], self._camera, max_s)
                visible_passes.append(open_pass)
            else:
                open_pass.miss(min(elapsed_s, MAX_INTERVAL_S))
                self._give_up_place(open_pass, looks)
                missed_passes.append(open_pass)
        taken_indexes = {*look_of_pass.values()}
        new_looks = [look for index, look in enumerate(looks) if index not in taken_indexes]
        new_passes = [self._start(look, missed_passes) for look in new_looks]
        self._open += new_passes
        return visible_passes + new_passes

    def _start(self, look: Look, missed_passes: Sequence[OpenPass]) -> OpenPass:
        self._pass_count += 1
        pass_id = self._new_id(look.frame.time_s, self._pass_count)
        open_pass = OpenPass.start(pass_id, look, self._camera)
        open_pass.is_doubtful = any(is_expected(other, look) for other in missed_passes)
        return open_pass

    @staticmethod
    def _give_up_place(open_pass: OpenPass, looks: Sequence[Look]) -> None:
        """End the wait for a standing vehicle when another one stands in its place."""
        for look in looks:
            away = abs(look.place[0] - open_pass.motion.x.value) + abs(
                look.place[1] - open_pass.motion.y.value
            )
            size = min(look.size, open_pass.motion.size)  # a nearer vehicle drives past below it
            if away < size and compare_texts(open_pass, look)[0] > OTHER_TEXT / 2:
                open_pass.missed_s = inf

    def _merge(self, visible_passes: Sequence[OpenPass]) -> list[OpenPass]:
        """Join passes with the same text that no frame has shown together."""
        merged_ids: set[str] = set()
        for first, second in combinations(self._open, 2):
            if first.id in merged_ids or second.id in merged_ids or not _are_one(first, second):
                continue
            survivor, other = (second, first) if second.is_told else (first, second)
            survivor.absorb(other)
            merged_ids.add(other.id)
            visible_passes = [
                survivor if open_pass is other else open_pass for open_pass in visible_passes
            ]
        self._open = [open_pass for open_pass in self._open if open_pass.id not in merged_ids]
        return [*{open_pass.id: open_pass for open_pass in visible_passes}.values()]

    def _close_gone(self, time_s: float) -> list[PassEvent]:
        gone_passes = [open_pass for open_pass in self._open if self._has_left(open_pass, time_s)]
        self._open = [open_pass for open_pass in self._open if open_pass not in gone_passes]
        return self._end(gone_passes)

    def _has_left(self, open_pass: OpenPass, time_s: float) -> bool:
        if open_pass.is_standing:
            return open_pass.missed_s > STANDING_GONE_S
        return time_s - open_pass.last_seen_s > max(GONE_S, GONE_FRAMES * self._interval_s)

    def _end(self, passes: Iterable[OpenPass]) -> list[PassEvent]:
        return [
            PassEvent("closed", self._describe(open_pass, "closed"))
            for open_pass in passes
            if self._counts(open_pass)
        ]

    def _counts(self, open_pass: OpenPass) -> bool:
        """Tell whether a track is a pass, and not a false detection."""
        if open_pass.is_told:
            return True
        if open_pass.shown_text(self._camera):
            is_sure = open_pass.fusion.score >= SINGLE_SCORE and not open_pass.is_doubtful
            return open_pass.agreements >= MIN_AGREEING or is_sure
        scores = [observation.plate.detection_score for observation in open_pass.observations]
        return (
            open_pass.looks >= UNREADABLE_LOOKS
            and open_pass.last_seen_s - open_pass.first_seen_s >= UNREADABLE_S
            and sum(scores) / len(scores) >= UNREADABLE_DETECTION
        )

    def _tell(self, visible_passes: Iterable[OpenPass]) -> list[PassEvent]:
        """Return the events `agreed` and `updated` of passes that a frame has shown."""
        events = []
        for open_pass in visible_passes:
            shown_text = open_pass.shown_text(self._camera)
            open_pass.settle(shown_text, is_agreed=self._agrees(open_pass))
            state = (shown_text, *open_pass.state)
            if not open_pass.is_told and open_pass.agreed_text:
                open_pass.is_told, open_pass.told_state = True, state
                events.append(PassEvent("agreed", self._describe(open_pass, "agreed")))
            elif open_pass.is_told and open_pass.told_state != state:
                open_pass.told_state = state
                events.append(PassEvent("updated", self._describe(open_pass, "agreed")))
        return events

    def _agrees(self, open_pass: OpenPass) -> bool:
        min_score = max(self._camera.agreement_threshold, self._camera.text_threshold)
        return open_pass.fusion.score >= min_score and open_pass.agreements >= MIN_AGREEING

    def _describe(self, open_pass: OpenPass, progress: Progress) -> Pass:
        return open_pass.describe(self._camera, self._formats, self._pixels, progress)


def _are_one(first: OpenPass, second: OpenPass) -> bool:
    """Tell whether two open passes are the same vehicle. No two events `agreed` are joined."""
    if not first.fusion.text or first.fusion.text != second.fusion.text:
        return False
    if first.is_told and second.is_told:
        return False
    if min(first.fusion.score, second.fusion.score) < SAME_SCORE:
        return False
    times = {observation.time_s for observation in first.observations}
    return times.isdisjoint(observation.time_s for observation in second.observations)
