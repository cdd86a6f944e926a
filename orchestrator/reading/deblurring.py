"""Motion blur: its direction and length are estimated, and a Wiener filter removes it.

If the camera or the car moves while the shutter is open, every edge appears twice with opposite
signs: at both ends of the motion. So the autocorrelation of the derivative along the motion has a
minimum there.

Sources: Yitzhaky and Kopeika 1997, "Identification of Blur Parameters from Motion Blurred Images";
Wiener 1949, "Extrapolation, Interpolation, and Smoothing of Stationary Time Series".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.arrays import Array, as_floats, floats_beside, namespace, to_numpy

DIRECTIONS_DEG = tuple(range(-40, 41, 10))
"""Directions of motion that are looked for, from along the rows (0) to 40 degrees down and up."""
MIN_PX = 3
"""Length of the shortest motion blur that is looked for, pixels."""
MAX_SHIFT_SHARE = 0.22
"""Length of the longest one, as a share of the strip's width."""
MIN_CORRELATION = 0.12
"""Smallest negative correlation of a motion blur; without noise it is 0.5."""
NOISE = 0.01
"""Power of the noise divided by that of the picture; a larger one gives a softer result."""
FAST = 8
"""Sides of Fourier transforms are multiples of it; prime numbers take four times as long."""
GREY = (0.114, 0.587, 0.299)
"""Weights of blue, green and red. Source: ITU-R BT.601."""


class Motion(NamedTuple):
    """A motion in a straight line at constant speed, pixels."""

    x: float
    y: float


def find_motions(strip: Array) -> list[Motion]:
    """Estimate the motion that blurs a strip: none, one or two candidates.

    The first is along the rows, as most cars move. The second is in another direction; it is a
    candidate if its correlation is clearer.

    Args:
        strip: uint8 [H, W, 3] BGR, an upright plate.
    """
    max_shift_px = int(MAX_SHIFT_SHARE * strip.shape[1])
    if max_shift_px < MIN_PX or strip.shape[0] < 2:
        return []
    radians = np.deg2rad(np.array(DIRECTIONS_DEG, np.float32))
    along = np.stack((np.cos(radians), np.sin(radians)), axis=1)
    correlation = to_numpy(_correlate(strip, along))
    steps = along[:, :, None] * np.arange(MIN_PX, max_shift_px + 1, dtype=np.float32)
    x, y = steps.round().astype(np.intp).swapaxes(0, 1)
    correlations = correlation[np.arange(len(along))[:, None], y, x]
    correlations = correlations / np.maximum(correlation[:, :1, 0], 1e-6)
    minima, shifts = correlations.min(axis=1), correlations.argmin(axis=1)
    rows, clearest = DIRECTIONS_DEG.index(0), int(minima.argmin())
    return [
        Motion(*steps[direction, :, shifts[direction]].tolist())
        for direction in dict.fromkeys((rows, clearest))
        if minima[direction] <= -MIN_CORRELATION
    ]


def _correlate(strip: Array, along: npt.NDArray[np.float32]) -> Array:
    """Return the autocorrelation of the derivative in each direction.

    Args:
        strip: uint8 [H, W, 3] BGR.
        along: Unit vectors of the directions, float32 [N, 2], x and y.

    Returns:
        Floats [N, rows, columns], by the shift down and to the right; negative shifts wrap round.
    """
    xp, grey = namespace(strip), as_floats(strip) @ floats_beside(strip, GREY)
    room = round(MAX_SHIFT_SHARE * grey.shape[1])  # for the longest shift
    size = [-(-(side + room) // FAST) * FAST for side in grey.shape]
    power = abs(xp.fft.rfft2(_fade(grey - grey.mean()), s=size)) ** 2
    down = 2 * np.sin(np.pi * np.fft.fftfreq(size[0]))
    right = 2 * np.sin(np.pi * np.fft.rfftfreq(size[1]))
    slopes = along[:, 0, None, None] * right + along[:, 1, None, None] * down[:, None]
    return xp.fft.irfft2(power * floats_beside(strip, slopes**2), s=size)


def _fade(grey: Array) -> Array:
    """Fade [H, W] to 0 at its edges, which are no edges of the picture."""
    for axis, side in enumerate(grey.shape):
        ramp = np.minimum((np.arange(side) + 0.5) / (0.1 * side), 1)
        window = floats_beside(grey, ramp * ramp[::-1])
        grey = grey * (window[:, None] if axis == 0 else window)
    return grey


def deconvolve(strip: Array, motion: Motion, noise: float = NOISE) -> Array:
    """Remove the blur of a motion with a Wiener filter.

    Args:
        strip: uint8 [H, W, 3].
        motion: The motion that blurs it.
        noise: Power of the noise divided by that of the picture.

    Returns:
        uint8 [H, W, 3].
    """
    xp, (height, width) = namespace(strip), strip.shape[:2]
    x, y = (2 * round(abs(pixels)) + 8 for pixels in motion)  # so that opposite edges stay apart
    planes = _pad(strip, x, y)
    rows, columns = planes.shape[1:]
    down, right = np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(columns)
    transfer = np.sinc(motion.x * right + motion.y * down)
    inverse = floats_beside(strip, transfer / (transfer**2 + noise) * (1 + noise))
    spectrum = xp.fft.rfft2(planes) * inverse
    sharp = xp.fft.irfft2(spectrum, s=(rows, columns))[:, y : y + height, x : x + width]
    upright = xp.moveaxis(xp.clip(xp.round(sharp), 0, 255), 0, 2)
    return xp.asarray(upright, dtype=xp.uint8)


def _pad(strip: Array, x: int, y: int) -> Array:
    """Return the planes of a strip, float32 [3, H + 2y, W + 2x]; its edges are repeated."""
    planes = namespace(strip).moveaxis(as_floats(strip), 2, 0)
    if isinstance(strip, np.ndarray):
        return np.pad(planes, ((0, 0), (y, y), (x, x)), mode="edge")
    import torch.nn.functional as F  # noqa: N812 - the name everybody knows

    return F.pad(planes, (x, x, y, y), mode="replicate")
