"""Improvement: plates that were read, but may be read better, are cut and read again.

A detector's box is upright, so a tilted plate has few pixels in it; and a plate may be smeared,
have two lines, or lie in an inexact box. Each kind of improvement chooses plates, cuts them in
other ways, and chooses among the old and the new readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from orchestrator.arrays import Array, namespace
from orchestrator.reading.affine_crops import compose
from orchestrator.reading.reader import PlateReadings, Reader

MAX_NEW_CUTS = 256
"""Largest number of cuts of one picture that are made to improve its readings. A plate takes 39 at
most."""


class Cut(NamedTuple):
    """A new cut of a plate.

    Attributes:
        plate: Index of the plate.
        lines: Lines of the plate, 1 or 2.
        xyxy: Box of the plate, float32 [4].
        frame: Frame of the cut, float32 [2, 3].
        crop: float32 [1, 3, 24, 94].
    """

    plate: int
    lines: int
    xyxy: Array
    frame: Array
    crop: Array


@dataclass(frozen=True)
class Improvement:
    """One way to read plates better.

    Attributes:
        choose: Returns the plates that may gain from it: for each index, the numbers of lines to
            try. If there are too many plates, the first ones are improved.
        cut: Cuts one plate of the picture anew, as a plate of so many lines.
        join: Returns the plates, with better readings where the new cuts have any. The third
            argument holds the frames and logits of the cuts; their readings only if they have had
            improvements of their own.
        then: Improvements of the new readings themselves, before they are joined.
    """

    choose: Callable[[PlateReadings, Reader], Mapping[int, Sequence[int]]]
    cut: Callable[[Array, PlateReadings, int, int], Iterable[Cut]]
    join: Callable[[PlateReadings, Sequence[Cut], PlateReadings, Reader], PlateReadings]
    then: tuple[Improvement, ...] = ()


def improve(
    picture: Array,
    plates: PlateReadings,
    reader: Reader,
    improvements: Sequence[Improvement],
    max_new_cuts: int = MAX_NEW_CUTS,
) -> PlateReadings:
    """Improve the readings of a picture's plates, by each improvement in turn.

    Args:
        picture: uint8 [H, W, 3] BGR.
        plates: The plates, the most important ones first.
        reader: The networks and formats.
        improvements: Ways to read plates better.
        max_new_cuts: Most new cuts. Plates that would need more keep their readings.

    Raises:
        ModelError: A network answered with tensors of another shape, or with numbers that are not
            finite.
    """
    for improvement in improvements:
        cuts: list[Cut] = []
        for plate, counts in improvement.choose(plates, reader).items():
            new_cuts = [
                cut for lines in counts for cut in improvement.cut(picture, plates, plate, lines)
            ]
            if len(cuts) + len(new_cuts) > max_new_cuts:
                break
            cuts += new_cuts
        if not cuts:
            continue
        max_new_cuts -= len(cuts)
        cut_readings = _look(cuts, reader)
        if improvement.then:
            cut_readings = replace(cut_readings, readings=reader.decode(cut_readings.logits))
            cut_readings = improve(picture, cut_readings, reader, improvement.then, max_new_cuts)
        plates = improvement.join(plates, cuts, cut_readings, reader)
    return plates


def _look(cuts: Sequence[Cut], reader: Reader) -> PlateReadings:
    """Straighten and read cuts as if each were a plate, without decoding."""
    crops = namespace(cuts[0].crop).concatenate([cut.crop for cut in cuts])
    straight_crops, theta = reader.stn(crops)
    logits = reader.lprnet(straight_crops)
    frames = compose(np.stack([cut.frame for cut in cuts]), theta)
    return PlateReadings(np.stack([cut.xyxy for cut in cuts]), frames, logits)
