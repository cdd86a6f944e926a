"""Follows the vehicles of one camera, and tells of their passes.

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
from plate_cameras.tracking.matching import (
    MOTION_S,
    OTHER_TEXT,
    compare_texts,
    is_expected,
    match,
)
from plate_cameras.tracking.open_pass import OpenPass
from plate_cameras.tracking.plate_pixels import JpegPixels, PlatePixels

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


def new_pass_id(time_s: float, number: int) -> str:
    """Return a UUID of version 7, whose ids sort by time and number.

    Args:
        time_s: Unix time.
        number: Number of the pass; it decides the order of passes of the same millisecond.

    Source: RFC 9562, section 5.7.
    """
    stamp = max(0, int(time_s * 1000)) & (1 << 48) - 1
    value = stamp << 80 | 7 << 76 | (number & 0xFFF) << 64 | 2 << 62 | secrets.randbits(62)
    return str(UUID(int=value))


class PassTracker:
    """Follows the vehicles of one camera.

    Args:
        camera: The camera's configuration.
        formats: Formats of texts that the service did not name; Russia's when None.
        pixels: Access to the pixels of plates.
        new_id: Makes the id of a pass from its time and number.
    """

    def __init__(
        self,
        camera: Camera,
        *,
        formats: Formats | None = None,
        pixels: PlatePixels | None = None,
        new_id: Callable[[float, int], str] = new_pass_id,
    ) -> None:
        self._camera = camera
        self._formats = formats or russian()
        self._pixels = pixels or JpegPixels()
        self._new_id = new_id
        self._open: list[OpenPass] = []
        self._shown: tuple[str, ...] = ()
        self._made = 0
        self._last_s: float | None = None
        self._learned_s = 0.0

    @property
    def open_passes(self) -> int:
        """Number of vehicles that are followed, those without a readable plate included."""
        return len(self._open)

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the passes that the last frame has shown, provisional ones included."""
        return self._shown

    def configure(self, camera: Camera) -> None:
        """Use other settings from the next frame on; open passes stay open."""
        self._camera = camera

    def update(self, frame: Frame, plates: Plates) -> list[PassEvent]:
        """Follow the plates of a frame. Return what has changed."""
        events: list[PassEvent] = []
        moment_s = frame.moment_s
        if self._goes_back(frame):
            events = self.close()
        passed_s = self._pass_time(moment_s)
        events += self._close_gone(moment_s)
        looks = take_looks(self._camera, frame, plates, self._pixels)
        seen = self._merge(self._assign(looks, moment_s, passed_s))
        self._shown = tuple(one.id for one in seen)
        return events + self._close_gone(moment_s) + self._tell(seen)

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
        self._shown = ()
        return events

    def _goes_back(self, frame: Frame) -> bool:
        """Tell whether a file begins anew. Steady moments do not go back."""
        if frame.steady_s is not None or self._last_s is None:
            return False
        return frame.time_s < self._last_s - BACKWARDS_S

    def _pass_time(self, time_s: float) -> float:
        """Return the time since the last frame, and learn the usual time between frames."""
        last_s = time_s if self._last_s is None else self._last_s
        passed_s = max(0.0, time_s - last_s)
        self._last_s = max(time_s, last_s)
        if 0 < passed_s < RESTING_S:
            share = INTERVAL_SHARE if self._learned_s else 1.0
            self._learned_s += (passed_s - self._learned_s) * share
        return passed_s

    @property
    def _interval_s(self) -> float:
        """Usual time between frames."""
        return max(self._learned_s, 1 / self._camera.looks_per_s)

    def _assign(self, looks: Sequence[Look], time_s: float, passed_s: float) -> list[OpenPass]:
        """Add looks to their passes, and open passes for the others; return these passes."""
        longest_s = max(MOTION_S, 1.5 * self._interval_s)
        pairs = match(self._open, looks, time_s, longest_s)
        by_pass, taken = dict(pairs), {look for _, look in pairs}
        for index, one in enumerate(self._open):
            if index in by_pass:
                one.add(looks[by_pass[index]], self._camera, longest_s)
            else:
                one.miss(min(passed_s, MAX_INTERVAL_S))
                self._give_up_place(one, looks)
        seen = [self._open[index] for index in by_pass]
        missed = [one for index, one in enumerate(self._open) if index not in by_pass]
        new = [self._start(look, missed) for index, look in enumerate(looks) if index not in taken]
        self._open += new
        return seen + new

    def _start(self, look: Look, missed: Sequence[OpenPass]) -> OpenPass:
        self._made += 1
        one = OpenPass.start(self._new_id(look.frame.time_s, self._made), look, self._camera)
        one.is_doubtful = any(is_expected(other, look) for other in missed)
        return one

    @staticmethod
    def _give_up_place(one: OpenPass, looks: Sequence[Look]) -> None:
        """End the wait for a standing vehicle when another one stands in its place."""
        for look in looks:
            away = abs(look.place[0] - one.motion.x.value) + abs(look.place[1] - one.motion.y.value)
            size = min(look.size, one.motion.size)  # a nearer vehicle drives past below it
            if away < size and compare_texts(one, look)[0] > OTHER_TEXT / 2:
                one.missed_s = inf

    def _merge(self, seen: Sequence[OpenPass]) -> list[OpenPass]:
        """Make one of passes with the same text that no frame has shown together."""
        gone: set[str] = set()
        for first, second in combinations(self._open, 2):
            if first.id in gone or second.id in gone or not _are_one(first, second):
                continue
            kept, other = (second, first) if second.is_told else (first, second)
            kept.absorb(other)
            gone.add(other.id)
            seen = [kept if one is other else one for one in seen]
        self._open = [one for one in self._open if one.id not in gone]
        return [*{one.id: one for one in seen}.values()]

    def _close_gone(self, time_s: float) -> list[PassEvent]:
        gone = [one for one in self._open if self._has_left(one, time_s)]
        self._open = [one for one in self._open if one not in gone]
        return self._end(gone)

    def _has_left(self, one: OpenPass, time_s: float) -> bool:
        if one.is_standing:
            return one.missed_s > STANDING_GONE_S
        return time_s - one.last_seen_s > max(GONE_S, GONE_FRAMES * self._interval_s)

    def _end(self, passes: Iterable[OpenPass]) -> list[PassEvent]:
        counted = filter(self._counts, passes)
        return [PassEvent("closed", self._describe(one, "closed")) for one in counted]

    def _counts(self, one: OpenPass) -> bool:
        """Tell whether a track is a pass, and no scrap that the detector took for a plate."""
        if one.is_told:
            return True
        if one.shown_text(self._camera):
            is_sure = one.fused.score >= SINGLE_SCORE and not one.is_doubtful
            return one.agreeing >= MIN_AGREEING or is_sure
        detections = [each.plate.detection_score for each in one.observations]
        return (
            one.looks >= UNREADABLE_LOOKS
            and one.last_seen_s - one.first_seen_s >= UNREADABLE_S
            and sum(detections) / len(detections) >= UNREADABLE_DETECTION
        )

    def _tell(self, seen: Iterable[OpenPass]) -> list[PassEvent]:
        """Return the events `agreed` and `updated` of passes that a frame has shown."""
        events = []
        for one in seen:
            one.settle(is_agreed=self._agrees(one))
            state = (one.shown_text(self._camera), *one.state)
            if not one.is_told and one.agreed_text:
                one.is_told, one.told = True, state
                events.append(PassEvent("agreed", self._describe(one, "agreed")))
            elif one.is_told and one.told != state:
                one.told = state
                events.append(PassEvent("updated", self._describe(one, "agreed")))
        return events

    def _agrees(self, one: OpenPass) -> bool:
        least = max(self._camera.agreement_threshold, self._camera.text_threshold)
        return one.fused.score >= least and one.agreeing >= MIN_AGREEING

    def _describe(self, one: OpenPass, progress: Progress) -> Pass:
        return one.describe(self._camera, self._formats, self._pixels, progress)


def _are_one(first: OpenPass, second: OpenPass) -> bool:
    """Tell whether two open passes are the same vehicle; each may have been told of only once."""
    if not first.fused.text or first.fused.text != second.fused.text:
        return False
    if first.is_told and second.is_told:
        return False
    if min(first.fused.score, second.fused.score) < SAME_SCORE:
        return False
    times = {one.time_s for one in first.observations}
    return times.isdisjoint(one.time_s for one in second.observations)
