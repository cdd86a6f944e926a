"""Looks at plates: where STN says that they are and what LPRNet reads; at some of them once more.

A detector's box is upright, and leaves few pixels to a plate that lies aslant in it. Such plates
are cut again along their own edges, and so are those that may have two lines and those that are
not read surely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from orchestrator.contract import INPUT, MAX_BATCH, OUTPUT, READER, RECTIFIER, THETA
from orchestrator.ctc import Reading
from orchestrator.detections import WIDEST_SQUARE
from orchestrator.errors import ModelError
from orchestrator.formats import Formats
from orchestrator.frames import (
    LOOK_MARGINS_XY,
    compose,
    cut_frame,
    frames_of,
    grow_frames,
    sizes_of,
    tilts_of,
)
from orchestrator.images import crop_boxes, crop_plates
from orchestrator.texts import read_lines

Tensors = Mapping[str, Tensor]
Infer = Callable[[str, Tensors], Tensors]
"""Runs the named network: `infer("yolo", {"input__0": net})["output__0"]`.

Where it has an attribute `formats`, as that of `load_networks` has, its weights read those plates.
"""

ASLANT_DEG = 8.0
"""Plates that are turned more are cut again along their edges."""
SURE = 0.9
"""Plates that are read with a lower score are looked at once more."""
NOTHING = 0.001
"""What is read with a lower score is no plate, or none that another look makes readable."""


@dataclass(frozen=True)
class Reader:
    """Who looks at plates, and what they may say.

    Attributes:
        infer: Runs a network.
        formats: What plates may say.
        temperature: Divides the logits.
        reads: Texts are wanted; else STN alone is asked.
    """

    infer: Infer
    formats: Formats
    temperature: float = 1.0
    reads: bool = True


@dataclass(frozen=True)
class Looks:
    """What is known of the N plates of a picture.

    Attributes:
        frames: float32 [N, 2, 3], where they are.
        readings: What they say, N; none where nobody asked.
    """

    frames: Tensor
    readings: tuple[Reading, ...]


class Again(NamedTuple):
    """A plate to look at once more, cut as one of so many lines."""

    plate: int
    lines: int


def look_at(picture: Tensor, xyxy: Tensor, reader: Reader) -> Looks:
    """Look at the plates in boxes, and once more where that pays.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: float32 [N, 4], what a detector found; N at least 1.
        reader: Who looks.

    Raises:
        ModelError: A network answered with tensors of another shape, or not with finite numbers.
    """
    frames = frames_of(crop_boxes(picture, xyxy))
    first = _look(crop_plates(picture, xyxy), frames, [1] * len(xyxy), reader)
    again = choose_again(first, reader)
    if not again:
        return first
    grown = [grow_frames(first.frames[one.plate], LOOK_MARGINS_XY[one.lines]) for one in again]
    cuts = [cut_frame(picture, frame, one.lines) for frame, one in zip(grown, again, strict=True)]
    second = _look(torch.cat(cuts), torch.stack(grown), [one.lines for one in again], reader)
    return _best_of(first, second, again, reader.formats)


def choose_again(looks: Looks, reader: Reader) -> list[Again]:
    """Return which plates to look at once more: aslant, unsure, or maybe of two lines.

    An upright box in which nothing was read is no plate, as is half of what detectors find.
    """
    aslant = (tilts_of(looks.frames) > ASLANT_DEG).tolist()
    unsure = [NOTHING <= reading.score < SURE for reading in looks.readings] or aslant
    flat = [Again(plate, 1) for plate in range(len(aslant)) if aslant[plate] or unsure[plate]]
    if not (reader.reads and reader.formats.layouts(2)):
        return flat
    sizes = sizes_of(looks.frames)
    square = (sizes[:, 0] < WIDEST_SQUARE * sizes[:, 1]).nonzero()[:, 0].tolist()
    return [*flat, *(Again(plate, 2) for plate in square)]


def _look(crops: Tensor, frames: Tensor, lines: Sequence[int], reader: Reader) -> Looks:
    """Look at crops [N, 3, 24, 94] that were cut along frames [N, 2, 3]."""
    straight, theta = straighten(crops, reader.infer)
    frames = compose(frames, theta)
    if not reader.reads:
        return Looks(frames, ())
    logits = read(straight, reader.infer).cpu().numpy()
    return Looks(frames, tuple(read_lines(logits, lines, reader.formats, reader.temperature)))


def _best_of(first: Looks, second: Looks, again: Sequence[Again], formats: Formats) -> Looks:
    """Keep the surer reading of each plate; and of those that lie aslant, where they lie.

    What STN says of an unfolded crop is no place in the picture.
    """
    frames, readings = first.frames.clone(), list(first.readings)
    has_flat_plates = bool(formats.layouts(1))
    aslant = (tilts_of(first.frames) > ASLANT_DEG).tolist()
    for (plate, lines), frame in zip(again, second.frames, strict=True):
        if lines == 1 and aslant[plate]:
            frames[plate] = frame
    for (plate, lines), reading in zip(again, second.readings, strict=bool(readings)):
        if reading.score > readings[plate].score or (lines == 2 and not has_flat_plates):
            readings[plate] = reading
    return Looks(frames, tuple(readings))


def straighten(crops: Tensor, infer: Infer) -> tuple[Tensor, Tensor]:
    """Rectify crops [N, 3, 24, 94]; return them and each one's theta [N, 2, 3]."""
    answers = [infer(RECTIFIER, {INPUT: chunk}) for chunk in crops.split(MAX_BATCH)]
    straight = torch.cat([answer[OUTPUT] for answer in answers])
    theta = torch.cat([answer[THETA] for answer in answers]).float().cpu()
    if straight.shape != crops.shape or theta.shape != (len(crops), 2, 3):
        raise ModelError(
            f"{RECTIFIER}: wanted {list(crops.shape)} and [{len(crops)}, 2, 3], "
            f"got {list(straight.shape)} and {list(theta.shape)}"
        )
    if not theta.isfinite().all():
        raise ModelError(f"{RECTIFIER}: wanted a finite theta, got NaN or infinity")
    return straight, theta


def read(straight: Tensor, infer: Infer) -> Tensor:
    """Return the logits [N, classes, 18] of rectified crops [N, 3, 24, 94]."""
    chunks = straight.split(MAX_BATCH)
    logits = torch.cat([infer(READER, {INPUT: chunk})[OUTPUT] for chunk in chunks])
    if len(logits) != len(straight):
        raise ModelError(f"{READER}: wanted {len(straight)} rows, got {len(logits)}")
    return logits
