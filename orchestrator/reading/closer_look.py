"""The closer look: unsure plates are detected again nearby, and also read in the new boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.arrays import Array
from orchestrator.detection.nearby import MAX_NEARBY
from orchestrator.detection.search import Yolo, find_nearby
from orchestrator.reading.affine_crops import frames_of
from orchestrator.reading.crops import crop_boxes, cut_boxes
from orchestrator.reading.improvement import Cut, Improvement
from orchestrator.reading.reader import PlateReadings, Reader, list_unsure
from orchestrator.reading.second_pass import SECOND_PASS
from orchestrator.reading.third_pass import THIRD_PASS
from orchestrator.settings import Settings


def closer_look(yolo: Yolo, settings: Settings) -> Improvement:
    """Return the improvement; its new readings get a second and a third pass, too.

    Args:
        yolo: The detector.
        settings: The detector's thresholds.
    """

    def cut(picture: Array, plates: PlateReadings, plate: int, lines: int) -> Iterator[Cut]:
        box = find_nearby(picture, plates.xyxy[plate], yolo, settings)
        if box is not None:
            cuts = crop_boxes(picture, box[None])
            yield Cut(plate, lines, box, frames_of(cuts)[0], cut_boxes(picture, cuts))

    return Improvement(_choose, cut, _join, then=(SECOND_PASS, THIRD_PASS))


def _choose(plates: PlateReadings, reader: Reader) -> dict[int, list[int]]:
    """Choose those unsure plates that a better box may help, the surest first."""
    surest = sorted(list_unsure(plates), key=lambda plate: -plates.readings[plate].score)
    return {plate: [1] for plate in surest[:MAX_NEARBY]}


def _join(
    plates: PlateReadings, cuts: Sequence[Cut], cut_readings: PlateReadings, reader: Reader
) -> PlateReadings:
    return plates.with_second_boxes([cut.plate for cut in cuts], cut_readings)
