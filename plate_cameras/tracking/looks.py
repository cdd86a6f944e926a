"""Looks: the plates of one frame that count, with their measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

from orchestrator.plates import Plate, Plates
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame, Xyxy
from plate_cameras.passes import Observation
from plate_cameras.tracking.plate_pixels import PlatePixels
from plate_cameras.tracking.zones import counts_at

MIN_REPEATED_SCORE = 0.5
"""Smallest score of a text of which only the best plate in a frame counts."""
FULL_WIDTH_PX, MIN_WIDTH_PX = 90.0, 20.0
"""Widths of a plate in the picture from which more pixels add nothing, and below which no text can
be read."""
FULL_SHARPNESS = 0.4
"""Sharpness from which more adds nothing to a reading's certainty; fitted on rendered clips."""
MIN_QUALITY = 0.1


@dataclass(frozen=True)
class Look:
    """One plate in one frame, in units that do not depend on the frame's size.

    Attributes:
        observation: The plate, with its sharpness. Its time is the frame's `moment_s`.
        point: Its middle as parts of the frame's width and height.
        place: Its middle in frame widths.
        size: Its width in frame widths.
        shape: Logarithm of the plate's width divided by its height.
        is_cut: True if the frame's edge may cut it. Then its shape does not count, and it has no
            text.
        others: Boxes of all other plates in the frame, also of those that do not count.
    """

    frame: Frame
    observation: Observation
    point: tuple[float, float]
    place: tuple[float, float]
    size: float
    shape: float
    is_cut: bool
    others: tuple[Xyxy, ...] = ()

    @property
    def log_size(self) -> float:
        return log(self.size)

    @property
    def text(self) -> str:
        """Best reading that has a format; empty for none."""
        return best_text(self.observation.plate)[0]

    @property
    def text_score(self) -> float:
        return best_text(self.observation.plate)[1]


def best_text(plate: Plate) -> tuple[str, float]:
    """Return the best reading of a plate that has a format, and its score; `("", 0)` for none."""
    return plate.candidates[0] if plate.candidates else (plate.text, plate.text_score)


def quality_of(observation: Observation) -> float:
    """Return the quality of a look at a plate, in [0.1, 1], from its sharpness and its width."""
    x0, _, x1, _ = observation.plate.xyxy
    width = (x1 - x0 - MIN_WIDTH_PX) / (FULL_WIDTH_PX - MIN_WIDTH_PX)
    sharp = min(1.0, observation.sharpness / FULL_SHARPNESS)
    return MIN_QUALITY + (1 - MIN_QUALITY) * sharp * sqrt(min(1.0, max(0.0, width)))


def take_looks(
    camera: Camera, frame: Frame, plates: Plates, pixels: PlatePixels
) -> tuple[Look, ...]:
    """Return the plates of a frame that count: in no mask, in a zone if wanted, each text once."""
    counted_plates = [
        (plate, point)
        for plate in plates
        if plate.xyxy[2] > plate.xyxy[0] + 1
        and plate.xyxy[3] > plate.xyxy[1] + 1
        and counts_at(camera, point := middle_of(plate, frame))
    ]
    sharpness = pixels.measure(frame, [plate.xyxy for plate, _ in counted_plates])
    looks = [
        replace(_look(frame, plate, point, sharp), others=_others(plate, plates))
        for (plate, point), sharp in zip(counted_plates, sharpness, strict=True)
    ]
    return _drop_repeated(looks)


def middle_of(plate: Plate, frame: Frame) -> tuple[float, float]:
    """Return a plate's middle as parts of the frame's width and height."""
    x0, y0, x1, y1 = plate.xyxy
    return (x0 + x1) / 2 / frame.size_wh[0], (y0 + y1) / 2 / frame.size_wh[1]


def _look(frame: Frame, plate: Plate, point: tuple[float, float], sharpness: float) -> Look:
    width, height = frame.size_wh
    x0, y0, x1, y1 = plate.xyxy
    is_cut = plate.may_be_cut(frame.size_wh)
    counted_plate = _without_text(plate) if is_cut else plate
    return Look(
        frame=frame,
        observation=Observation(frame.moment_s, counted_plate, sharpness),
        point=point,
        place=(point[0], point[1] * height / width),
        size=(x1 - x0) / width,
        shape=log((x1 - x0) / (y1 - y0)),
        is_cut=is_cut,
    )


def _without_text(plate: Plate) -> Plate:
    """Return a plate without its readings: a cut plate is often read as another one."""
    return replace(
        plate, text="", text_score=0.0, candidates=(), format="", region=None, country=None
    )


def _others(plate: Plate, plates: Plates) -> tuple[Xyxy, ...]:
    return tuple(other.xyxy for other in plates if other is not plate)


def _drop_repeated(looks: Sequence[Look]) -> tuple[Look, ...]:
    """Keep the best of the looks with the same text: lorries repeat their number on the body."""
    best_looks: dict[str, Look] = {}
    for look in looks:
        if look.text and look.text_score >= MIN_REPEATED_SCORE:
            best_look = best_looks.get(look.text)
            if best_look is None or _worth(look) > _worth(best_look):
                best_looks[look.text] = look
    return tuple(look for look in looks if best_looks.get(look.text, look) is look)


def _worth(look: Look) -> float:
    return look.text_score * look.observation.plate.detection_score * quality_of(look.observation)
