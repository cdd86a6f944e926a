"""Texts that are read where no plate is: found, counted by cause, and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from orchestrator.detection.boxes import area, intersection, iou
from orchestrator.imaging.files import Bgr
from orchestrator.plates import Plate, Plates
from workshop.evaluation.datasets import Box
from workshop.evaluation.proportions import wilson_interval
from workshop.evaluation.report_files.drawings import FOUND, LABEL, Outline, Tile, draw_view
from workshop.rendering.plateless.plateless_pictures import PlacedThing

LABEL_IOU = 0.3
"""A box that overlaps a labelled plate less than this is a false alarm."""
CAUSE_SHARE = 0.3
"""Smallest share of a false alarm that lies in a thing, for the thing to be its cause."""
SURROUNDINGS = "car or street"
"""Cause of a false alarm outside all drawn things."""
PHOTO = "photo"
"""Cause of a false alarm in a picture whose things are not known."""


@dataclass(frozen=True)
class SearchedPicture:
    """A picture to look for false texts in.

    Attributes:
        name: Name of the picture.
        picture: (H, W, 3) uint8 BGR.
        plates: Boxes of its plates, labelled or set aside, xyxy pixels; none in a negative.
        things: Things that look like plates; None when they are not known.
    """

    name: str
    picture: Bgr
    plates: tuple[Box, ...] = ()
    things: tuple[PlacedThing, ...] | None = None


@dataclass(frozen=True)
class FalseAlarm:
    """A detection where no plate is.

    Attributes:
        image: Name of the picture.
        xyxy: The box, pixels.
        text: Best reading with a format, `""` for none.
        cause: Kind of the thing that was found.
        tile: The picture of it for a sheet; None for a text that is not shown.
    """

    image: str
    xyxy: Box
    detection_score: float
    text: str
    text_score: float
    cause: str
    tile: Bgr | None = None

    def is_shown(self, threshold: float) -> bool:
        """Tell whether the service would show the text with this text threshold."""
        return bool(self.text) and self.text_score >= threshold


@dataclass(frozen=True)
class Tally:
    """False alarms of a set of pictures.

    Attributes:
        alarms: The detections where no plate is.
        thing_counts: Number of things in the pictures, by kind.
    """

    pictures: int
    alarms: tuple[FalseAlarm, ...]
    thing_counts: dict[str, int]

    def list_shown(self, threshold: float) -> list[FalseAlarm]:
        """Return the alarms whose texts are shown, surest first."""
        alarms = [alarm for alarm in self.alarms if alarm.is_shown(threshold)]
        return sorted(alarms, key=lambda alarm: -alarm.text_score)

    def count_pictures(self, threshold: float) -> int:
        """Return the number of pictures with at least one such text."""
        return len({alarm.image for alarm in self.list_shown(threshold)})

    def interval(self, threshold: float) -> tuple[float, float]:
        """Return the 95 % interval of the share of pictures with such a text."""
        return wilson_interval(self.count_pictures(threshold), self.pictures) or (0.0, 1.0)


def collect_alarms(views: Iterable[tuple[SearchedPicture, Plates]], threshold: float) -> Tally:
    """Collect the false alarms of pictures and their plates.

    Args:
        views: Each picture with the plates that were found, read with a text threshold of 0.
        threshold: Least score of the texts that get a tile.
    """
    alarms: list[FalseAlarm] = []
    thing_counts: dict[str, int] = {}
    count = 0
    for view, plates in views:
        count += 1
        for thing in view.things or ():
            thing_counts[thing.kind] = thing_counts.get(thing.kind, 0) + 1
        alarms += (
            _with_tile(view, alarm) if alarm.is_shown(threshold) else alarm
            for alarm in _alarms_of(view, plates)
        )
    return Tally(count, tuple(alarms), thing_counts)


def _alarms_of(view: SearchedPicture, plates: Plates) -> Iterator[FalseAlarm]:
    """Yield the plates that overlap none of the picture's plates."""
    for plate in plates:
        if overlap(plate.xyxy, view.plates) >= LABEL_IOU:
            continue
        text = plate.candidates[0][0] if plate.candidates else ""
        yield FalseAlarm(
            image=view.name,
            xyxy=plate.xyxy,
            detection_score=plate.detection_score,
            text=text,
            text_score=plate.text_score if text else 0.0,
            cause=_cause(view, plate),
        )


def overlap(box: Box, others: Sequence[Box]) -> float:
    """Return the greatest IoU of a box with others; 0 without others."""
    if not others:
        return 0.0
    return float(iou(np.array([box], np.float32), np.array(others, np.float32)).max())


def _cause(view: SearchedPicture, plate: Plate) -> str:
    """Return the kind of the thing that most of a box lies in."""
    if view.things is None:
        return PHOTO
    if not view.things:
        return SURROUNDINGS
    box = np.array([plate.xyxy], np.float32)
    boxes = np.array([thing.xyxy for thing in view.things], np.float32)
    inside = intersection(box, boxes)[0]
    index = int(inside.argmax())
    return view.things[index].kind if inside[index] >= CAUSE_SHARE * area(box)[0] else SURROUNDINGS


def _with_tile(view: SearchedPicture, alarm: FalseAlarm) -> FalseAlarm:
    """Add the tile: the box in its picture, and the plates there."""
    outlines = [Outline.of_box(plate, LABEL) for plate in view.plates]
    tile = Tile(
        path=Path(view.name),
        focus=alarm.xyxy,
        detail=alarm.xyxy,
        outlines=(*outlines, Outline.of_box(alarm.xyxy, FOUND)),
        caption=f"{view.name}: {alarm.text} {alarm.text_score:.2f}, {alarm.cause}",
    )
    return replace(alarm, tile=draw_view(view.picture, tile))
