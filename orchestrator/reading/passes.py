"""Reads plates in up to three passes: STN finds their frames, LPRNet reads them.

A detector's box is upright, so a tilted plate has few pixels in it. Tilted plates are cut again
along their own edges. So are plates that may have two lines, and plates with a low score. The
logits of all cuts of a plate are averaged. Plates whose score is still low are read once more:
without their motion blur, if they have any. Those that may have two lines are cut along
these, and divided at other rows. The surest of all these readings counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from orchestrator.arrays import Array, empty_floats, namespace, to_cpu, to_numpy
from orchestrator.detection.nearby import MAX_NEARBY
from orchestrator.reading.affine_crops import (
    SECOND_PASS_MARGINS_XY,
    compose,
    cut_frame,
    frames_of,
    grow_frames,
    tilts_of,
)
from orchestrator.reading.crops import crop_boxes, crop_plates
from orchestrator.reading.ctc import Reading
from orchestrator.reading.reader import (
    PlateReadings,
    Reader,
    are_square,
    infer_logits,
    list_unsure,
    rectify,
)
from orchestrator.reading.readings import read_lines
from orchestrator.reading.third_pass import read_unsure

MIN_WIDTH_PX = 28
"""Width of the narrowest boxes whose plates are read: of 199 in narrower ones, none was read right.
"""
TILTED_DEG = 8.0
"""Plates with a greater tilt are cut again along their edges."""


class SecondPass(NamedTuple):
    """Plates to cut again: `flat` ones in one line, `square` ones unfolded from two."""

    flat: list[int]
    square: list[int]


class Cuts(NamedTuple):
    """Frames of the cuts of the plates to cut again: float32 [plates, cuts of each, 2, 3]."""

    flat: Array
    square: Array

    @property
    def frames(self) -> Array:
        """All frames, [cuts, 2, 3]."""
        flat = [frames.reshape(-1, 2, 3) for frames in self]
        return namespace(self.flat).concatenate(flat)

    def by_plate(self, answers: Array) -> tuple[Array, Array]:
        """Divide answers into those of flat and of square plates: [plates, cuts, ...]."""
        (plates, cuts), (_, more) = (frames.shape[:2] for frames in self)
        flat, square, rest = answers[: plates * cuts], answers[plates * cuts :], answers.shape[1:]
        return (
            flat.reshape(plates, cuts, *rest),
            square.reshape(len(self.square), more, *rest),
        )


def choose_readable(xyxy: Array) -> list[int]:
    """Return the indices of those boxes [N, 4] that are wide enough for a plate to be read."""
    widths = xyxy[:, 2] - xyxy[:, 0]
    return _list_true(widths >= MIN_WIDTH_PX)


def read_plates(picture: Array, xyxy: Array, reader: Reader) -> PlateReadings:
    """Read the plates in boxes, and again those where it helps.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: The detector's boxes, float32 [N, 4]; N at least 1.
        reader: The networks and formats.

    Raises:
        ModelError: A network answered with tensors of another shape, or with numbers that are not
            finite.
    """
    xyxy = to_cpu(xyxy)
    boxes = frames_of(crop_boxes(picture, xyxy), xyxy)
    frames, logits = _rectify_and_read(crop_plates(picture, xyxy), boxes, reader)
    first = PlateReadings(frames, _decode(logits, 1, reader), logits)
    return read_unsure(picture, xyxy, read_again(picture, xyxy, first, reader), reader)


def choose_closer_look(readings: PlateReadings) -> list[int]:
    """Return the indices of those unsure plates that a better box may help, the surest first."""
    unsure = list_unsure(readings)
    return sorted(unsure, key=lambda plate: -readings.readings[plate].score)[:MAX_NEARBY]


def read_again(picture: Array, xyxy: Array, first: PlateReadings, reader: Reader) -> PlateReadings:
    """Read in the second pass those plates where it helps; see `read_plates`."""
    again = choose_second_pass(first, reader)
    if not any(again):
        return first
    cuts = _plan_cuts(first.frames, xyxy, again)
    crops = [
        cut_frame(picture, frame, lines)
        for lines, of_plates in enumerate(cuts, start=1)
        for frame in of_plates.reshape(-1, 2, 3)
    ]
    frames_again, logits_again = _rectify_and_read(
        namespace(picture).concatenate(crops), cuts.frames, reader
    )
    frames = _join_frames(first.frames, cuts.by_plate(frames_again)[0], again.flat)
    joined = replace(first, frames=frames)
    if not reader.reads:
        return joined
    return _join_readings(joined, cuts.by_plate(logits_again), again, reader)


def choose_second_pass(readings: PlateReadings, reader: Reader) -> SecondPass:
    """Choose tilted plates, plates with a low score, and those that may have two lines.

    An upright box with an empty reading is no plate; half of the detector's boxes are such.
    """
    is_tilted = (tilts_of(readings.frames) > TILTED_DEG).tolist()
    unsure = set(list_unsure(readings))
    flat = [plate for plate, tilted in enumerate(is_tilted) if tilted or plate in unsure]
    if not (reader.reads and reader.formats.layouts(2)):
        return SecondPass(flat, [])
    return SecondPass(flat, _list_true(are_square(readings.frames)))


def _plan_cuts(frames: Array, xyxy: Array, again: SecondPass) -> Cuts:
    """Plan cuts of plates along their edges, from the frames [N, 2, 3] that STN found.

    STN gets plates of two lines pressed flat, and finds them less exactly than the detector does.
    So these are also cut along the detector's boxes [N, 4].
    """
    flat, square = (
        [grow_frames(frames[plates], margin_xy) for margin_xy in SECOND_PASS_MARGINS_XY[lines]]
        for lines, plates in enumerate(again, start=1)
    )
    boxes, xp = frames_of(xyxy[again.square].tolist(), frames), namespace(frames)
    return Cuts(xp.stack(flat, 1), xp.stack([*square, boxes], 1))


def _rectify_and_read(crops: Array, frames: Array, reader: Reader) -> tuple[Array, Array]:
    """Straighten and read crops [N, 3, 24, 94] that were cut along frames [N, 2, 3].

    Returns:
        The plates' frames [N, 2, 3], and logits [N, classes, 18]; no logits when texts are not
        wanted.
    """
    straight, theta = rectify(crops, reader.infer)
    logits = (
        to_cpu(infer_logits(straight, reader.infer)) if reader.reads else empty_floats(frames, [0])
    )
    return compose(frames, theta), logits


def _decode(logits: Array, lines: int, reader: Reader) -> tuple[Reading, ...]:
    counts = [lines] * len(logits)
    return tuple(read_lines(to_numpy(logits), counts, reader.formats, reader.temperature))


def _join_frames(frames: Array, again: Array, flat: list[int]) -> Array:
    """Return the plates' frames; a tilted plate gets the mean frame of the cuts along its edges.

    The frame that STN gives for an unfolded crop is no position in the picture.

    Args:
        frames: Frames of the first pass, [N, 2, 3].
        again: Frames of the cuts of the flat plates, [plates, cuts, 2, 3].
        flat: Indices of the flat plates.
    """
    if not flat:
        return frames
    is_aslant = (tilts_of(frames[flat]) > TILTED_DEG).tolist()
    joined = [*frames]
    for plate, mean, aslant in zip(flat, again.mean(1), is_aslant, strict=True):
        joined[plate] = mean if aslant else joined[plate]
    return namespace(frames).stack(joined)


def _join_readings(
    first: PlateReadings, again: tuple[Array, Array], chosen: SecondPass, reader: Reader
) -> PlateReadings:
    """Read the mean of all cuts of a plate; of one line and two the surer reading counts."""
    readings, logits = list(first.readings), [*first.logits]
    of_flat, of_square = again
    xp = namespace(of_flat)
    mean = xp.concatenate((first.logits[chosen.flat][:, None], of_flat), 1).mean(1)
    in_one_line = zip(chosen.flat, _decode(mean, 1, reader), mean, strict=True)
    for plate, reading, seen in in_one_line:
        readings[plate], logits[plate] = reading, seen
    unfolded = of_square.mean(1)
    in_two_lines = zip(chosen.square, _decode(unfolded, 2, reader), unfolded, strict=True)
    for plate, reading, seen in in_two_lines:
        if reading.score > readings[plate].score or not reader.formats.layouts(1):
            readings[plate], logits[plate] = reading, seen
    return replace(first, readings=tuple(readings), logits=xp.stack(logits))


def _list_true(flags: Array) -> list[int]:
    """Return the indices of those flags [N] that are true."""
    return [index for index, flag in enumerate(flags.tolist()) if flag]
