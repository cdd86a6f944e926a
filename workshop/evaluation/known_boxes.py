"""Reads plates in known boxes as the service does, without searching for them."""

from __future__ import annotations

from orchestrator.arrays import Array
from orchestrator.reading.crops import crop_plates
from orchestrator.reading.improvement import improve
from orchestrator.reading.reader import PlateReadings, Reader, frames_in
from orchestrator.reading.second_pass import SECOND_PASS
from orchestrator.reading.third_pass import THIRD_PASS


def read_plates(picture: Array, xyxy: Array, reader: Reader) -> PlateReadings:
    """Read the plates in boxes, and again those where it helps, but look for no better boxes.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: The boxes, float32 [N, 4] on the CPU; N at least 1.
        reader: The networks and formats.
    """
    straight, theta = reader.stn(crop_plates(picture, xyxy))
    logits = reader.lprnet(straight)
    first = PlateReadings(xyxy, frames_in(picture, xyxy, theta), logits, reader.decode(logits))
    return improve(picture, first, reader, (SECOND_PASS, THIRD_PASS))
