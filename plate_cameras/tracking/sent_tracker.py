"""Makes passes of pictures that cameras send: each may be the only one of its vehicle.

Motion tells nothing here: pictures come late, twice and in another order. Pictures with the same
text are one vehicle if little time lies between them. The camera's own reading counts as one more.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from math import log

from orchestrator.formats.edit_distance import edit_distance
from orchestrator.plates import Plate, Plates
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.passes import CAMERA, Observation, Pass, PassEvent, Progress
from plate_cameras.tracking.looks import Look, best_text, take_looks
from plate_cameras.tracking.open_pass import OpenPass
from plate_cameras.tracking.pass_tracker import (
    UNREADABLE_DETECTION,
    PassTracker,
    new_pass_id,
)
from plate_cameras.tracking.plate_pixels import PlatePixels

SAME_VEHICLE_S = 10.0
"""Pictures with the same text are of one vehicle if no more time lies between them."""
MAX_PICTURES = 1000
"""Pictures that are known again. A copy of one is no second look at its vehicle."""
MAX_EDITS = 2
"""Greatest number of characters in which the camera's reading and ours of one plate differ."""


class SentTracker(PassTracker):
    """Follows the vehicles of a camera that sends pictures. See `PassTracker`.

    A pass is closed when no picture has shown its vehicle for `SAME_VEHICLE_S`.
    """

    def __init__(self, camera: Camera, *, pixels: PlatePixels | None = None) -> None:
        super().__init__(camera, pixels=pixels)
        self._digests: deque[bytes] = deque(maxlen=MAX_PICTURES)

    def update(self, frame: Frame, plates: Plates) -> list[PassEvent]:
        """Make or continue passes of a picture. Return what has changed."""
        events = self.advance(frame.moment_s)
        if self._is_copy(frame):
            self._shown = ()
            return events
        looks = take_looks(self._camera, frame, plates, self._pixels)
        seen = [
            self._keep(self._begin(look, number))
            for number, look in enumerate(self._choose(frame, plates, looks))
        ]
        self._shown = tuple(open_pass.id for open_pass in seen)
        return events + self._tell({open_pass.id: open_pass for open_pass in seen}.values())

    def advance(self, moment_s: float) -> list[PassEvent]:
        """Close the passes of vehicles of which no pictures came lately."""
        passed_s = 0.0 if self._last_s is None else max(0.0, moment_s - self._last_s)
        self._last_s = moment_s if self._last_s is None else max(moment_s, self._last_s)
        for open_pass in self._open:
            open_pass.miss(passed_s)
        return self._close_gone(moment_s)

    def _is_copy(self, frame: Frame) -> bool:
        """Tell whether a picture has come before: cameras send again, and servers copy files."""
        digest = hashlib.sha256(frame.jpeg).digest()
        is_copy = digest in self._digests
        self._digests.append(digest)
        return is_copy

    def _choose(self, frame: Frame, plates: Plates, looks: Sequence[Look]) -> Sequence[Look]:
        """Return the plates that a picture is about: the one that the camera has read, else all.

        If the service finds no plate, the camera's reading counts alone, without a place.
        """
        sent = frame.sent
        if sent is None or not sent.text:
            return looks
        if not plates:
            return [] if self._camera.only_in_zones else [_look_nowhere(frame)]
        likely = [look for look in looks if look.text and _differ(look, sent.text) <= MAX_EDITS]
        if likely:
            return [min(likely, key=lambda look: _differ(look, sent.text))]
        return sorted(looks, key=lambda look: -look.size)[:1]

    def _begin(self, look: Look, number: int) -> OpenPass:
        """Return a new pass of a look. The same picture has the same ids, whenever it is read."""
        frame, sent, bits = look.frame, look.frame.sent, None
        if sent:  # another camera may send the same picture
            digest = hashlib.sha256(self._camera.name.encode() + b"|" + sent.digest).digest()
            bits = int.from_bytes(digest[:8], "big")
        open_pass = OpenPass.start(new_pass_id(frame.time_s, number, bits), look, self._camera)
        if sent and sent.text:
            box = look.observation.plate.xyxy
            plate = Plate(box, text=sent.text, text_score=sent.score)
            open_pass.add_reading(Observation(frame.moment_s, plate, 1.0, source=CAMERA))
        return open_pass

    def _keep(self, new: OpenPass) -> OpenPass:
        """Add a new pass to that of the same vehicle, if there is one."""
        for known in self._open:
            apart_s = abs(known.last_seen_s - new.last_seen_s)
            if new.fused.text and known.fused.text == new.fused.text and apart_s <= SAME_VEHICLE_S:
                if new.id != known.id:
                    known.absorb(new)
                    known.missed_s = 0.0
                return known
        self._open.append(new)
        return new

    def _has_left(self, open_pass: OpenPass, time_s: float) -> bool:
        return open_pass.missed_s >= SAME_VEHICLE_S

    def _agrees(self, open_pass: OpenPass) -> bool:
        """Tell whether two readings agree, one of them ours: a camera's text may be anything."""
        is_ours = any(
            not reading.source and best_text(reading.plate)[0] == open_pass.fused.text
            for reading in open_pass.observations
        )
        return is_ours and super()._agrees(open_pass)

    def _counts(self, open_pass: OpenPass) -> bool:
        """Tell whether a track is a pass: it has a text, or is surely a plate."""
        if open_pass.is_told or open_pass.shown_text(self._camera):
            return True
        scores = (reading.plate.detection_score for reading in open_pass.observations)
        return max(scores) >= UNREADABLE_DETECTION

    def _describe(self, open_pass: OpenPass, progress: Progress) -> Pass:
        """Describe a pass. Without a place of its plate, its picture could not be blurred."""
        passed = super()._describe(open_pass, progress)
        if passed.best.observation.plate.detection_score:
            return passed
        return replace(passed, best=replace(passed.best, crop_jpeg=b"", frame_jpeg=b""))


def _differ(look: Look, text: str) -> int:
    return edit_distance(look.text, text)


def _look_nowhere(frame: Frame) -> Look:
    """Return a look at a plate that the service has not found: its box is the whole picture."""
    width, height = frame.size_wh
    plate = Plate((0.0, 0.0, float(width), float(height)))
    return Look(
        frame=frame,
        observation=Observation(frame.moment_s, plate),
        point=(-1.0, -1.0),  # in no zone
        place=(0.5, height / width / 2),
        size=1.0,
        shape=log(width / height),
        is_cut=True,
    )
