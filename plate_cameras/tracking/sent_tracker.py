"""Makes passes of pictures that cameras send: each may be the only one of its vehicle.

Motion cannot be used here: pictures come late, twice and in another order. Pictures with the same
text are one vehicle if little time lies between them. The camera's own reading counts as another
frame's.
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
from plate_cameras.tracking.pass_tracker import UNREADABLE_DETECTION, PassTracker, make_pass_id
from plate_cameras.tracking.plate_pixels import PlatePixels

SAME_VEHICLE_S = 10.0
"""Pictures with the same text are of one vehicle if no more time lies between them."""
MAX_PICTURES = 1000
"""Pictures whose copies are recognised. A copy is no second look at its vehicle."""
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
            self._visible_ids = ()
            return events
        looks = take_looks(self._camera, frame, plates, self._pixels)
        visible_passes = [
            self._keep(self._begin(look, number))
            for number, look in enumerate(self._choose(frame, plates, looks))
        ]
        self._visible_ids = tuple(open_pass.id for open_pass in visible_passes)
        return events + self._tell(
            {open_pass.id: open_pass for open_pass in visible_passes}.values()
        )

    def advance(self, moment_s: float) -> list[PassEvent]:
        """Close the passes of vehicles of which no pictures came lately."""
        elapsed_s = 0.0 if self._last_s is None else max(0.0, moment_s - self._last_s)
        self._last_s = moment_s if self._last_s is None else max(moment_s, self._last_s)
        for open_pass in self._open:
            open_pass.miss(elapsed_s)
        return self._close_gone(moment_s)

    def _is_copy(self, frame: Frame) -> bool:
        """Tell whether a picture has come before: cameras send again, and servers copy files."""
        digest = hashlib.sha256(frame.jpeg).digest()
        is_copy = digest in self._digests
        self._digests.append(digest)
        return is_copy

    def _choose(self, frame: Frame, plates: Plates, looks: Sequence[Look]) -> Sequence[Look]:
        """Return the looks that count: that at the plate that the camera has read, else all.

        If the service finds no plate, the camera's reading counts alone, without a place.
        """
        upload = frame.upload
        if upload is None or not upload.text:
            return looks
        if not plates:
            return [] if self._camera.only_in_zones else [_look_nowhere(frame)]
        likely_looks = [
            look for look in looks if look.text and _count_edits(look, upload.text) <= MAX_EDITS
        ]
        if likely_looks:
            return [min(likely_looks, key=lambda look: _count_edits(look, upload.text))]
        return sorted(looks, key=lambda look: -look.size)[:1]

    def _begin(self, look: Look, number: int) -> OpenPass:
        """Return a new pass of a look. The same picture has the same ids, whenever it is read."""
        frame, upload, bits = look.frame, look.frame.upload, None
        if upload:  # another camera may send the same picture
            digest = hashlib.sha256(self._camera.name.encode() + b"|" + upload.digest).digest()
            bits = int.from_bytes(digest[:8], "big")
        open_pass = OpenPass.start(make_pass_id(frame.time_s, number, bits), look, self._camera)
        if upload and upload.text:
            box = look.observation.plate.xyxy
            plate = Plate(box, text=upload.text, text_score=upload.score)
            open_pass.add_reading(Observation(frame.moment_s, plate, 1.0, source=CAMERA))
        return open_pass

    def _keep(self, new_pass: OpenPass) -> OpenPass:
        """Add a new pass to that of the same vehicle, if there is one."""
        for open_pass in self._open:
            apart_s = abs(open_pass.last_seen_s - new_pass.last_seen_s)
            is_same = bool(new_pass.fusion.text) and open_pass.fusion.text == new_pass.fusion.text
            if is_same and apart_s <= SAME_VEHICLE_S:
                if new_pass.id != open_pass.id:
                    open_pass.absorb(new_pass)
                    open_pass.missed_s = 0.0
                return open_pass
        self._open.append(new_pass)
        return new_pass

    def _has_left(self, open_pass: OpenPass, time_s: float) -> bool:
        return open_pass.missed_s >= SAME_VEHICLE_S

    def _agrees(self, open_pass: OpenPass) -> bool:
        """Tell whether two readings agree. One must be ours: a camera's text may be wrong."""
        is_ours = any(
            not reading.source and best_text(reading.plate)[0] == open_pass.fusion.text
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
        vehicle_pass = super()._describe(open_pass, progress)
        if vehicle_pass.best.observation.plate.detection_score:
            return vehicle_pass
        return replace(vehicle_pass, best=replace(vehicle_pass.best, crop_jpeg=b"", frame_jpeg=b""))


def _count_edits(look: Look, text: str) -> int:
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
