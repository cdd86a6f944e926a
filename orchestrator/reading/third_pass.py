"""The third pass: plates whose score is still low are cut and read in other ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.arrays import Array, namespace, to_cpu, to_numpy
from orchestrator.formats.plate_formats import Formats
from orchestrator.reading.affine_crops import (
    cut_upright,
    frames_of,
    grow_frames,
    to_input,
    unfold_at,
)
from orchestrator.reading.deblurring import deconvolve, find_motions
from orchestrator.reading.reader import (
    PlateReadings,
    Reader,
    are_square,
    infer_logits,
    list_unsure,
    rectify,
)
from orchestrator.reading.readings import read_lines

DEBLURRED_MARGIN_XY = (0.06, 0.2)
"""Margins around a plate whose motion blur is removed."""
UPPER_LINE = (0.44, 0.56)
"""Shares of the height at which the third pass divides plates of two lines; the second pass divides
them in the middle."""


def read_unsure(
    picture: Array, xyxy: Array, before: PlateReadings, reader: Reader
) -> PlateReadings:
    """Read in the third pass those plates whose score is still low; see `read_plates`.

    Each cut has a reading of its own, and the surest counts. A cut with the wrong motion, or the
    wrong row between the lines, would spoil a mean.
    """
    cuts = [
        (plate, lines, crop)
        for plate in list_unsure(before)
        for lines, crop in _cut(picture, before.frames[plate], xyxy[plate], reader.formats)
    ]
    if not cuts:
        return before
    plates, counts, crops = zip(*cuts, strict=True)
    straight, _ = rectify(namespace(picture).concatenate(crops), reader.infer)
    seen = to_cpu(infer_logits(straight, reader.infer))
    texts = read_lines(to_numpy(seen), list(counts), reader.formats, reader.temperature)
    readings, logits = list(before.readings), [*before.logits]
    for plate, reading, of_cut in zip(plates, texts, seen, strict=True):
        if reading.score > readings[plate].score:
            readings[plate], logits[plate] = reading, of_cut
    stacked = namespace(seen).stack(logits)
    return replace(before, readings=tuple(readings), logits=stacked)


def _cut(picture: Array, frame: Array, box: Array, formats: Formats) -> Iterator[tuple[int, Array]]:
    """Cut one plate for the third pass: without its motion blur, and at other rows in two.

    Yields:
        Lines of the plate, and a crop [1, 3, 24, 94].
    """
    if formats.layouts(1):
        (grown,) = grow_frames(frame[None], DEBLURRED_MARGIN_XY)
        strip = cut_upright(picture, grown)
        for motion in find_motions(strip):
            yield 1, to_input(deconvolve(strip, motion))
    if formats.layouts(2) and bool(are_square(frame[None])[0]):
        (whole,) = frames_of(box[None].tolist(), frame)
        upright = cut_upright(picture, whole)
        for share in UPPER_LINE:
            yield 2, unfold_at(upright, share)
