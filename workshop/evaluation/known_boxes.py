"""Reads plates in known boxes as the service does, without searching for them."""

from __future__ import annotations

from orchestrator.arrays import Array
from orchestrator.reading.affine_crops import compose, frames_of
from orchestrator.reading.crops import crop_boxes, cut_boxes
from orchestrator.reading.improvement import improve
from orchestrator.reading.reader import PlateReadings, Reader
from orchestrator.reading.second_pass import SECOND_PASS
from orchestrator.reading.third_pass import THIRD_PASS


def read_plates(picture: Array, xyxy: Array, reader: Reader) -> PlateReadings:
    """Read the plates in boxes, and again those where it helps, but look for no better boxes.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: The boxes, float32 [N, 4] of NumPy; N at least 1.
        reader: The networks and formats.
    """
    cuts = crop_boxes(picture, xyxy)
    straight, theta = reader.stn(cut_boxes(picture, cuts))
    logits = reader.lprnet(straight)
    frames = compose(frames_of(cuts), theta)
    first = PlateReadings(xyxy, frames, logits, reader.decode(logits))
    return improve(picture, first, reader, (SECOND_PASS, THIRD_PASS))
