"""The third pass: plates whose score is still low are cut without their blur, and along two lines.

Each cut has a reading of its own, and the surest counts. A cut with the wrong motion, or the wrong
row between the lines, would spoil a mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.arrays import Array, namespace
from orchestrator.reading.affine_crops import (
    cut_upright,
    frames_of,
    grow_frames,
    sizes_of,
    to_input,
    unfold_at,
)
from orchestrator.reading.deblurring import deconvolve, find_motions
from orchestrator.reading.improvement import Cut, Improvement
from orchestrator.reading.reader import (
    SURE_FROM,
    UNREADABLE_BELOW,
    PlateReadings,
    Reader,
    list_square,
)
from orchestrator.reading.skew import find_skew, frames_inside

DEBLURRED_MARGIN_XY = (0.06, 0.2)
"""Margins around a plate whose motion blur is removed."""
MIN_UNREAD_PX = 60.0
"""Smallest width of a box in which nothing was read, but which may hold a plate of two lines."""
TWO_LINE_MARGINS_XY, UPPER_LINE = ((0.0, 0.0), (0.05, 0.06), (0.1, 0.12)), (0.46, 0.54)
"""Margins around a plate of two lines, and shares of its height at which it is divided."""


def _choose(plates: PlateReadings, reader: Reader) -> dict[int, list[int]]:
    """Choose plates with a low score, for all numbers of lines that they may have.

    A box in which nothing was read may hold a plate of two lines: no other cut helps it.
    """
    scores = {
        plate: reading.score
        for plate, reading in enumerate(plates.readings)
        if reading.score < SURE_FROM
    }
    if not scores:
        return {}
    square = set(list_square(frames_of(plates.xyxy))) if reader.formats.layouts(2) else set()
    has_one = bool(reader.formats.layouts(1))
    return {
        plate: [1] * (has_one and score >= UNREADABLE_BELOW) + [2] * (plate in square)
        for plate, score in scores.items()
    }


def _cut(picture: Array, plates: PlateReadings, plate: int, lines: int) -> Iterator[Cut]:
    """Cut one plate in all ways that may help it."""
    if lines == 1:
        return _cut_deblurred(picture, plates, plate)
    return _cut_two_lines(picture, plates, plate)


def _cut_deblurred(picture: Array, plates: PlateReadings, plate: int) -> Iterator[Cut]:
    """Cut a plate of one line along its frame, without its motion blur, if any is seen."""
    frame = plates.frames[plate]
    (grown_frame,) = grow_frames(frame[None], DEBLURRED_MARGIN_XY)
    strip = cut_upright(picture, grown_frame)
    for motion in find_motions(strip):
        yield Cut(plate, 1, plates.xyxy[plate], frame, to_input(deconvolve(strip, motion)))


def _cut_two_lines(picture: Array, plates: PlateReadings, plate: int) -> Iterator[Cut]:
    """Cut a plate of two lines along these, with several margins, divided at several rows.

    A box in which nothing was read must hold lines, and be wide enough.
    """
    box, was_read = plates.xyxy[plate], plates.readings[plate].score >= UNREADABLE_BELOW
    (whole,) = frames_of(box)
    width, height = sizes_of(whole[None])[0].tolist()
    if not was_read and width < MIN_UNREAD_PX:
        return
    degrees = find_skew(cut_upright(picture, whole), (width, height))
    if degrees is None and not was_read:
        return
    for frame in frames_inside(whole, degrees or 0.0):
        for margin_xy in TWO_LINE_MARGINS_XY:
            (grown_frame,) = grow_frames(frame[None], margin_xy)
            upright = cut_upright(picture, grown_frame)
            for share in UPPER_LINE:
                yield Cut(plate, 2, box, frame, unfold_at(upright, share))


def _join(
    plates: PlateReadings, cuts: Sequence[Cut], cut_readings: PlateReadings, reader: Reader
) -> PlateReadings:
    """Take the surest reading of each plate; its frame is the plate's, before STN."""
    readings = reader.decode(cut_readings.logits, [cut.lines for cut in cuts])
    frames = namespace(cut_readings.frames).stack([cut.frame for cut in cuts])
    new_readings = replace(cut_readings, readings=readings, frames=frames)
    return plates.with_surer([cut.plate for cut in cuts], new_readings)


THIRD_PASS = Improvement(_choose, _cut, _join)
