"""Hidden ends: plates whose region has two digits, but may have lost a third one.

A post, another car, dirt or snow may hide the last digit of a region of three. The rest is the text
of another car: `A123BC186` becomes `A123BC18`. The reader cannot tell them apart. A small network
looks at the straightened plate: at the border at the right, the blank before it, the divider, the
flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array, to_numpy
from orchestrator.formats.plate_formats import RUSSIA, Formats
from orchestrator.reading.affine_crops import grow_frames, map_region
from orchestrator.reading.ctc import Reading
from orchestrator.reading.sampling import sample

SHORT = ("ru_car", "LDDDLLRR")
"""The format, and its layout, whose texts may be beginnings of others; the network knows no other.
"""
MIN_SCORE = 0.5
"""Texts with a lower score are not shown in any case."""
ROOM_XY, INPUT_HW = (0.05, 0.12), (24, 96)
"""Room around the plate's frame, and size of what the network sees."""
FLOOR = 4.0
"""Grey levels that are added to the contrast, so that an even surface does not become noise."""
MIN_EVIDENCE = 1.0
"""Log odds from which an end counts as hidden; see docs/why/evaluation.md."""

NETWORK = RUSSIA.with_name("hidden_ends.npz")
"""The trained network; `python -m workshop.training.hidden_ends` writes such a file."""

Floats = npt.NDArray[np.float32]
Layers = Sequence[tuple[Floats, Floats]]
"""Weights [in, out] and biases of the network: three convolutions and two whole layers."""


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
    indices = [index for index, reading in enumerate(readings) if _may_go_on(reading, formats)]
    if not indices:
        return set()
    ends = see_ends(picture, grow_frames(frames[indices], ROOM_XY))
    evidence = weigh_ends(ends, read_layers(NETWORK))
    return {index for index, odds in zip(indices, evidence, strict=True) if odds > MIN_EVIDENCE}


def _may_go_on(reading: Reading, formats: Formats) -> bool:
    """Tell whether a text that may be shown can be the beginning of another: `B840OK19` of 197."""
    if reading.score < MIN_SCORE or reading.lines != 1:
        return False
    text = reading.candidates[0][0]
    return text[-2:] in _list_beginnings(formats) and formats.match(text, 1) == SHORT


@lru_cache(maxsize=8)
def _list_beginnings(formats: Formats) -> frozenset[str]:
    """Return the region codes without their last digits: 19 for 197."""
    return frozenset(code[:-1] for code in formats.regions)


def see_ends(picture: Array, frames: Array) -> Floats:
    """Return the network's input [N, 24, 96]: the pixels in frames, in grey, with even contrast."""
    ends = []
    for frame in frames:
        region, theta = map_region(picture, frame)
        upright = sample(to_numpy(region), theta, INPUT_HW)
        grey = cv2.cvtColor(upright, cv2.COLOR_BGR2GRAY)
        mean, spread = cv2.meanStdDev(grey)
        ends.append((grey - mean) / (spread + FLOOR))
    return np.array(ends, np.float32)


def weigh_ends(ends: Floats, layers: Layers) -> Floats:
    """Return the log odds [N] that the ends of plates with two digits of a region are hidden.

    Args:
        ends: See `see_ends`.
        layers: The network.
    """
    *convolutions, (inner, inner_bias), (last, last_bias) = layers
    features = ends[:, :, :, None]
    for weights, bias in convolutions:
        features = _convolve(features, weights, bias)
    inner_features = np.maximum(features.reshape(len(ends), len(inner)) @ inner + inner_bias, 0)
    return (inner_features @ last + last_bias)[:, 0]


def _convolve(features: Floats, weights: Floats, bias: Floats) -> Floats:
    """Convolve [N, H, W, C] by 3x3 at every second row and column, and set negative values to 0."""
    count, high, wide, channels = features.shape
    padded = np.zeros((count, high + 1, wide + 1, channels), np.float32)  # the rest is not reached
    padded[:, 1:, 1:] = features
    shifted = [padded[:, y : y + high : 2, x : x + wide : 2] for y in range(3) for x in range(3)]
    sums: Floats = np.concatenate(shifted, 3).reshape(-1, 9 * channels) @ weights
    sums += bias
    return np.maximum(sums, 0, out=sums).reshape(count, high // 2, wide // 2, len(bias))


@lru_cache(maxsize=1)
def read_layers(file: Path) -> Layers:
    """Read the network from a file of `NETWORK`'s form."""
    with np.load(file) as arrays:
        floats = [arrays[name].astype(np.float32) for name in arrays.files]
    return tuple(zip(floats[::2], floats[1::2], strict=True))
