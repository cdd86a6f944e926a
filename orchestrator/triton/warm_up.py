"""An artificial request, so that the first real one finds everything imported and allocated.

Triton's own warm-up cannot do this: it would call the other models before they are loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array, Tensors, floats_like
from orchestrator.contract import DETECTOR, INPUT, OUTPUT, RECTIFIER, THETA
from orchestrator.formats.layouts import flatten
from orchestrator.formats.plate_formats import Formats
from orchestrator.imaging.decoding import unpack_bgr
from orchestrator.imaging.headers import Header, check_file
from orchestrator.pipeline import recognize
from orchestrator.plates import Plates
from orchestrator.settings import Settings

ROWS = ((8.0, 8.0, 88.0, 28.0, 1.0, 0.0), (8.0, 40.0, 48.0, 70.0, 1.0, 0.0))
"""The detector's rows for a plate of one line, and for a square one."""
TILT_DEG = 15.0
"""Tilt of both plates, so that they are cut again along their edges."""
STEPS = 18
LOGIT = 5.0
"""Logit of the likeliest class of each step; the others have 0. So the text's score is low, and
its plate is read in all three passes."""


def warm_up(
    settings: Settings,
    formats: Formats,
    file: bytes,
    decode: Callable[[bytes, Header], Array] = unpack_bgr,
) -> Plates:
    """Run all steps of the worker itself on a picture file, with three passes of reading.

    Args:
        settings: Settings of the worker.
        formats: The plate formats.
        file: The picture file.
        decode: Decodes a file with a checked header to the worker's device. The first step on a
            GPU makes a CUDA context, which takes seconds.

    Returns:
        Its plates: one, and a square one if plates may have two lines.
    """
    picture = decode(file, check_file(file, settings.max_pixels))
    rows = ROWS[: 2 if formats.layouts(2) else 1]
    theta, logits = _tilt(), _weak_logits(formats)

    def answer(model: str, tensors: Tensors) -> Tensors:
        """Answer as the networks might: tilted plates, and a text that is far from sure."""
        pictures = tensors[INPUT]
        if model == DETECTOR:
            return {OUTPUT: floats_like(picture, [rows] * len(pictures))}
        if model == RECTIFIER:
            return {OUTPUT: pictures, THETA: floats_like(picture, [theta] * len(pictures))}
        return {OUTPUT: floats_like(picture, np.stack([logits] * len(pictures)))}

    return recognize(picture, answer, settings, formats=formats)


def _tilt() -> list[list[float]]:
    angle = math.radians(TILT_DEG)
    (cos, sin) = math.cos(angle), math.sin(angle)
    return [[cos, -sin, 0.0], [sin, cos, 0.0]]


def _weak_logits(formats: Formats) -> npt.NDArray[np.float32]:
    """Return logits [classes, 18] of a text with the first layout: a character, a blank, ..."""
    lines = 1 if formats.layouts(1) else 2
    layout = flatten(formats.layouts(lines)[0])
    logits = np.zeros((formats.classes, STEPS), np.float32)
    for step in range(STEPS):
        place = layout[step // 2 : step // 2 + 1] if step % 2 == 0 else ""
        classes = [at for at, char in enumerate(formats.alphabet) if formats.admits(place, char)]
        logits[classes[0] if place else formats.blank, step] = LOGIT
    return logits
