"""The third pass: plates whose score is still low are cut and read in other ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from orchestrator.arrays import Array, namespace, to_cpu, to_numpy
from orchestrator.formats.plate_formats import Formats
from orchestrator.reading.affine_crops import (
    cut_frame,
    cut_upright,
    frames_of,
    grow_frames,
    sizes_of,
    to_input,
    unfold_at,
)
from orchestrator.reading.ctc import Reading
from orchestrator.reading.deblurring import deconvolve, find_motions
from orchestrator.reading.reader import (
    SURE_FROM,
    UNREADABLE_BELOW,
    PlateReadings,
    Reader,
    are_square,
    infer_logits,
    rectify,
)
from orchestrator.reading.readings import read_lines
from orchestrator.reading.skew import find_skew, turn_frame

DEBLURRED_MARGIN_XY = (0.06, 0.2)
"""Margins around a plate whose motion blur is removed."""
LEAST_TURNED_PX, LEAST_TURN_DEG = 60.0, 5.0
"""Least width of the box of a plate of two lines whose angle is looked for, and the least angle
along which it is cut."""
RATIOS, TURNED_MARGIN_XY = (1.32, 1.7), (0.04, 0.06)
"""Ratios of width to height, and the margins, with which turned plates of two lines are cut."""
UPPER_LINE = (0.44, 0.56)
"""Shares of the height at which the third pass divides plates of two lines; the second pass divides
them in the middle."""


class Cut(NamedTuple):
    """A cut of a plate for the third pass.

    Attributes:
        lines: Lines of the plate.
        crop: float32 [1, 3, 24, 94].
        frame: The frame [2, 3] along which a turned plate was cut; None for others.
    """

    lines: int
    crop: Array
    frame: Array | None = None


def read_unsure(
    picture: Array, xyxy: Array, before: PlateReadings, reader: Reader
) -> PlateReadings:
    """Read in the third pass those plates whose score is still low; see `read_plates`.

    Each cut has a reading of its own, and the surest counts. A cut with the wrong motion, or the
    wrong row between the lines, would spoil a mean.
    """
    cuts = [
        (plate, cut)
        for plate, reading in enumerate(before.readings)
        if reading.score < SURE_FROM
        for cut in _cut(picture, before.frames[plate], xyxy[plate], reading, reader.formats)
    ]
    if not cuts:
        return before
    plates, made = zip(*cuts, strict=True)
    straight, _ = rectify(namespace(picture).concatenate([cut.crop for cut in made]), reader.infer)
    seen = to_cpu(infer_logits(straight, reader.infer))
    counts = [cut.lines for cut in made]
    texts = read_lines(to_numpy(seen), counts, reader.formats, reader.temperature)
    readings, logits, frames = list(before.readings), [*before.logits], [*before.frames]
    for plate, cut, reading, of_cut in zip(plates, made, texts, seen, strict=True):
        if reading.score > readings[plate].score:
            readings[plate], logits[plate] = reading, of_cut
            frames[plate] = before.frames[plate] if cut.frame is None else cut.frame
    stack = namespace(seen).stack
    return replace(before, readings=tuple(readings), logits=stack(logits), frames=stack(frames))


def _cut(
    picture: Array, frame: Array, box: Array, before: Reading, formats: Formats
) -> Iterator[Cut]:
    """Cut one plate for the third pass in all ways that may help it.

    A box in which nothing was read may hold a turned plate of two lines: no other cut helps it.
    """
    (whole,) = frames_of(box[None].tolist(), frame)
    was_read, may_have_two = before.score >= UNREADABLE_BELOW, bool(formats.layouts(2))
    if was_read and formats.layouts(1):
        yield from _cut_deblurred(picture, frame)
    is_divided = was_read and may_have_two and bool(are_square(frame[None])[0])
    may_be_turned = may_have_two and _may_be_turned(whole)
    if not (is_divided or may_be_turned):
        return
    upright = cut_upright(picture, whole)
    if is_divided:
        yield from (Cut(2, unfold_at(upright, share)) for share in UPPER_LINE)
    if may_be_turned:
        yield from _cut_turned(picture, whole, upright)


def _cut_deblurred(picture: Array, frame: Array) -> Iterator[Cut]:
    """Cut a plate of one line along its frame [2, 3], without its motion blur, if any is seen."""
    (grown,) = grow_frames(frame[None], DEBLURRED_MARGIN_XY)
    strip = cut_upright(picture, grown)
    for motion in find_motions(strip):
        yield Cut(1, to_input(deconvolve(strip, motion)))


def _may_be_turned(whole: Array) -> bool:
    """Tell whether a box's frame [2, 3] may hold a turned plate of two lines, large enough."""
    wide_enough = bool(sizes_of(whole[None])[0, 0] >= LEAST_TURNED_PX)
    return wide_enough and bool(are_square(whole[None])[0])


def _cut_turned(picture: Array, whole: Array, upright: Array) -> Iterator[Cut]:
    """Cut a plate of two lines along its own edges, if it is turned in its box.

    Args:
        picture: uint8 [H, W, 3] BGR.
        whole: The box's frame, float32 [2, 3].
        upright: uint8 [h, w, 3] BGR, the pixels in that frame.
    """
    width, height = sizes_of(whole[None])[0].tolist()
    degrees = find_skew(upright, (width, height))
    if abs(degrees) < LEAST_TURN_DEG:
        return
    for ratio in RATIOS:
        (frame,) = grow_frames(turn_frame(whole, degrees, ratio)[None], TURNED_MARGIN_XY)
        yield Cut(2, cut_frame(picture, frame, lines=2), frame)
