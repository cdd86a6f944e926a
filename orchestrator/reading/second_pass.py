"""The second pass: plates are cut again along their own edges, and the logits are averaged.

It helps tilted plates and those with a low score. Plates that may have two lines are unfolded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from orchestrator.arrays import Array
from orchestrator.reading.affine_crops import (
    SECOND_PASS_MARGINS_XY,
    cut_frame,
    frames_of,
    grow_frames,
    tilts_of,
)
from orchestrator.reading.improvement import Cut, Improvement
from orchestrator.reading.reader import TILTED_DEG, PlateReadings, Reader, list_square, list_unsure


def _choose(plates: PlateReadings, reader: Reader) -> dict[int, list[int]]:
    """Choose tilted plates, plates with a low score, and those that may have two lines.

    An upright box with an empty reading is no plate; half of the detector's boxes are such.
    """
    tilted = np.flatnonzero(tilts_of(plates.frames) > TILTED_DEG).tolist()
    flat = {*tilted, *list_unsure(plates)}
    has_two = reader.reads and reader.formats.layouts(2)
    square = set(list_square(plates.frames)) if has_two else set()
    return {
        plate: [lines for lines, indices in ((1, flat), (2, square)) if plate in indices]
        for plate in sorted(flat | square)
    }


def _cut(picture: Array, plates: PlateReadings, plate: int, lines: int) -> Iterator[Cut]:
    """Cut a plate along its edges, with several margins.

    The input of STN is too flat for plates of two lines, so it finds them less exactly than the
    detector. So these are also cut along the detector's box.
    """
    box, frames = plates.xyxy[plate], plates.frames[plate : plate + 1]
    grown = [grow_frames(frames, margin_xy)[0] for margin_xy in SECOND_PASS_MARGINS_XY[lines]]
    for frame in [*grown, *frames_of(box)] if lines == 2 else grown:
        yield Cut(plate, lines, box, frame, cut_frame(picture, frame, lines))


def _join(
    plates: PlateReadings, cuts: Sequence[Cut], cut_readings: PlateReadings, reader: Reader
) -> PlateReadings:
    """Read the mean of all cuts of a plate; of one line and two the surer reading counts."""
    flat, frames_of_flat = _by_plate(cuts, cut_readings.frames, 1)
    joined_plates = replace(plates, frames=_join_frames(plates.frames, frames_of_flat, flat))
    if not reader.reads:
        return joined_plates
    readings, logits = [*plates.readings], [*plates.logits]
    if flat:
        _, of_flat = _by_plate(cuts, cut_readings.logits, 1)
        mean = np.concatenate((plates.logits[flat][:, None], of_flat), 1).mean(1)
        for plate, reading, plate_logits in zip(flat, reader.decode(mean), mean, strict=True):
            readings[plate], logits[plate] = reading, plate_logits
    square, of_square = _by_plate(cuts, cut_readings.logits, 2)
    if square:
        mean = of_square.mean(1)
        in_two_lines = reader.decode(mean, [2] * len(square))
        for plate, reading, plate_logits in zip(square, in_two_lines, mean, strict=True):
            if reading.score > readings[plate].score or not reader.formats.layouts(1):
                readings[plate], logits[plate] = reading, plate_logits
    return replace(joined_plates, readings=tuple(readings), logits=np.stack(logits))


def _by_plate(cuts: Sequence[Cut], answers: Array, lines: int) -> tuple[list[int], Array]:
    """Return the plates cut in so many lines, and their cuts' answers: [plates, cuts, ...]."""
    rows = [row for row, cut in enumerate(cuts) if cut.lines == lines]
    plates = [*dict.fromkeys(cuts[row].plate for row in rows)]
    each = len(rows) // max(len(plates), 1)
    return plates, answers[rows].reshape(len(plates), each, *answers.shape[1:])


def _join_frames(frames: Array, cut_frames: Array, flat: list[int]) -> Array:
    """Return the plates' frames; a tilted plate gets the mean frame of the cuts along its edges.

    The frame that STN gives for an unfolded crop is no position in the picture.

    Args:
        frames: Frames of the plates, [N, 2, 3].
        cut_frames: Frames of the cuts of the flat plates, [plates, cuts, 2, 3].
        flat: Indices of the flat plates.
    """
    if not flat:
        return frames
    joined_frames, is_tilted = frames.copy(), tilts_of(frames) > TILTED_DEG
    for plate, mean in zip(flat, cut_frames.mean(1), strict=True):
        joined_frames[plate] = mean if is_tilted[plate] else joined_frames[plate]
    return joined_frames


SECOND_PASS = Improvement(_choose, _cut, _join)
