"""The third pass: plates whose score is still low are cut and read in other ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.arrays import Array, namespace, to_cpu, to_numpy
from orchestrator.formats.plate_formats import Formats
from orchestrator.reading.affine_crops import (
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
from orchestrator.reading.skew import find_skew, frames_inside

DEBLURRED_MARGIN_XY = (0.06, 0.2)
"""Margins around a plate whose motion blur is removed."""
MIN_UNREAD_PX = 60.0
"""Least width of a box in which nothing was read, but which may hold a plate of two lines."""
TWO_LINE_MARGINS_XY, UPPER_LINE = ((0.0, 0.0), (0.05, 0.06), (0.1, 0.12)), (0.46, 0.54)
"""Margins around a plate of two lines, and shares of its height at which it is divided."""


class Cut(NamedTuple):
    """A cut of a plate for the third pass.

    Attributes:
        lines: Lines of the plate.
        crop: float32 [1, 3, 24, 94].
        frame: The frame [2, 3] of a plate of two lines; None for one line.
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
    frames = [
        before.frames[plate] if cut.frame is None else cut.frame
        for plate, cut in zip(plates, made, strict=True)
    ]
    of_cuts = PlateReadings(namespace(seen).stack(frames), tuple(texts), seen)
    return before.with_surer(plates, of_cuts)


def _cut(
    picture: Array, frame: Array, box: Array, before: Reading, formats: Formats
) -> Iterator[Cut]:
    """Cut one plate for the third pass in all ways that may help it.

    A box in which nothing was read may hold a plate of two lines: no other cut helps it.
    """
    was_read = before.score >= UNREADABLE_BELOW
    if was_read and formats.layouts(1):
        yield from _cut_deblurred(picture, frame)
    (whole,) = frames_of([box.tolist()], frame)
    if formats.layouts(2) and are_square(whole[None])[0]:
        yield from _cut_two_lines(picture, whole, was_read=was_read)


def _cut_deblurred(picture: Array, frame: Array) -> Iterator[Cut]:
    """Cut a plate of one line along its frame [2, 3], without its motion blur, if any is seen."""
    (grown,) = grow_frames(frame[None], DEBLURRED_MARGIN_XY)
    strip = cut_upright(picture, grown)
    for motion in find_motions(strip):
        yield Cut(1, to_input(deconvolve(strip, motion)))


def _cut_two_lines(picture: Array, whole: Array, *, was_read: bool) -> Iterator[Cut]:
    """Cut a plate of two lines along these, with several margins, divided at several rows.

    Args:
        picture: uint8 [H, W, 3] BGR.
        whole: The frame [2, 3] of the plate's box.
        was_read: Something was read in the box. If not, it must hold lines, and be wide enough.
    """
    width, height = sizes_of(whole[None])[0].tolist()
    if not was_read and width < MIN_UNREAD_PX:
        return
    degrees = find_skew(cut_upright(picture, whole), (width, height))
    if degrees is None and not was_read:
        return
    for frame in frames_inside(whole, degrees or 0.0):
        for margin_xy in TWO_LINE_MARGINS_XY:
            (grown,) = grow_frames(frame[None], margin_xy)
            upright = cut_upright(picture, grown)
            yield from (Cut(2, unfold_at(upright, share), frame) for share in UPPER_LINE)
