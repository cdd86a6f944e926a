"""Hidden ends: does a plate with two digits of a region end where such plates end?

A post, another car, dirt or snow may hide the last digit of a region of three. What is left is the
text of another car: `A123BC186` becomes `A123BC18`. A small network looks at the straightened plate
for what the reader cannot say: the border at the right, the blank before it, the divider, the flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array, namespace, to_numpy
from orchestrator.formats.plate_formats import RUSSIA, Formats
from orchestrator.reading.affine_crops import grow_frames, sample_frame
from orchestrator.reading.ctc import Reading
from orchestrator.reading.sampling import sample

SHORT = ("ru_car", "LDDDLLRR")
"""The format, and its layout, whose texts may be beginnings of others; the network knows no other.
"""
MIN_SCORE = 0.5
"""Texts with a lower score are not shown in any case."""
ROOM_XY, SEEN_HW = (0.15, 0.3), (40, 208)
"""Room around the plate's frame, and size of the picture that is first cut out."""
PART = np.array([[1.1 / 1.3, 0, 0], [0, 1.24 / 1.6, 0]], np.float32)
"""The part of it that the network sees: the frame with 5 % and 12 % more at each side."""
INPUT_HW = (24, 96)
FLOOR = 4.0
"""Grey levels that are added to the contrast, so that an even surface does not become noise."""
MIN_EVIDENCE = 5.0
"""Log odds from which an end counts as hidden. Of 3,178 right and sure texts one has as much."""

NETWORK = RUSSIA.with_name("hidden_ends.npz")
"""The trained network; `python -m workshop.training.hidden_ends` writes such a file."""

Floats = npt.NDArray[np.float32]
Layers = tuple[tuple[Floats, Floats], ...]
"""Weights and biases of the network: three convolutions and two whole layers."""


def find_hidden_ends(
    picture: Array, frames: Array, readings: Sequence[Reading], formats: Formats
) -> set[int]:
    """Return the indices of plates whose right end is likely hidden.

    Their texts are likely the beginnings of others.

    Args:
        picture: uint8 [H, W, 3] BGR.
        frames: The plates' frames, float32 [N, 2, 3].
        readings: The readings of the plates.
        formats: The formats of the readings.
    """
    chosen = [plate for plate, reading in enumerate(readings) if _may_go_on(reading, formats)]
    if not chosen:
        return set()
    grown = grow_frames(frames[chosen], ROOM_XY)
    seen = namespace(picture).stack([sample_frame(picture, frame, SEEN_HW) for frame in grown])
    layers = read_layers(NETWORK)
    looks = zip(chosen, to_numpy(seen), strict=True)
    return {plate for plate, upright in looks if weigh_end(upright, layers) > MIN_EVIDENCE}


def _may_go_on(reading: Reading, formats: Formats) -> bool:
    """Tell whether a text that may be shown can be the beginning of another."""
    if reading.score < MIN_SCORE or reading.lines != 1:
        return False
    return formats.match(reading.candidates[0][0], 1) == SHORT


def weigh_end(seen: npt.NDArray[np.uint8], layers: Layers) -> float:
    """Return the log odds that the end is hidden of a plate with two digits of a region.

    Args:
        seen: uint8 [40, 208, 3] BGR, the plate upright with `ROOM_XY` around it.
        layers: The network.
    """
    features = prepare(seen)[None]
    *convolutions, (inner, inner_bias), (last, last_bias) = layers
    for weights, bias in convolutions:
        features = _convolve(features, weights, bias)
    hidden = np.maximum(inner @ features.ravel() + inner_bias, 0)
    return float((last @ hidden + last_bias).item())


def prepare(seen: npt.NDArray[np.uint8], part: Floats = PART) -> Floats:
    """Return the network's input, float32 [24, 96]: a part of an upright plate, in even contrast.

    Args:
        seen: See `weigh_end`.
        part: The map of the part, see `sample`.
    """
    grey: Floats = sample(cv2.cvtColor(seen, cv2.COLOR_BGR2GRAY), part, INPUT_HW).astype(np.float32)
    grey -= grey.mean()
    grey /= np.sqrt((grey * grey).mean()) + FLOOR
    return grey


def _convolve(features: Floats, weights: Floats, bias: Floats) -> Floats:
    """Convolve [C, H, W] by 3x3 at every second row and column, and drop what is negative."""
    channels, high, wide = features.shape
    padded = np.zeros((channels, high + 2, wide + 2), np.float32)
    padded[:, 1:-1, 1:-1] = features
    shifted = [padded[:, y : y + high : 2, x : x + wide : 2] for y in range(3) for x in range(3)]
    patches = np.stack(shifted, 1).reshape(9 * channels, -1)
    sums = weights.reshape(len(weights), -1) @ patches + bias[:, None]
    convolved: Floats = np.maximum(sums, 0).reshape(-1, high // 2, wide // 2)
    return convolved


@lru_cache(maxsize=1)
def read_layers(file: Path) -> Layers:
    """Read the network from a file of `NETWORK`'s form."""
    with np.load(file) as arrays:
        floats = [arrays[name].astype(np.float32) for name in arrays.files]
    return tuple(zip(floats[::2], floats[1::2], strict=True))
