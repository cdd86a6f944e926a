"""Motion blur: its direction and length are estimated, and a Wiener filter removes it.

If the camera or the car moves while the shutter is open, every edge appears twice with opposite
signs: at both ends of the motion. So the autocorrelation of the derivative along the motion has a
minimum there.

Sources: Yitzhaky and Kopeika 1997, "Identification of Blur Parameters from Motion Blurred Images";
Wiener 1949, "Extrapolation, Interpolation, and Smoothing of Stationary Time Series".
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor

DIRECTIONS_DEG = tuple(range(-40, 41, 10))
"""Directions of motion that are looked for, from along the rows (0) to 40 degrees down and up."""
SHORTEST_PX = 3
"""Length of the shortest motion blur that is looked for, pixels."""
LONGEST = 0.22
"""Length of the longest one, as a share of the strip's width."""
LEAST_CORRELATION = 0.12
"""Least negative correlation of a motion blur; without noise it is 0.5."""
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


def find_motions(strip: Tensor) -> list[Motion]:
    """Estimate the motion that blurs a strip: none, one or two candidates.

    The first is along the rows, as most cars move. The second is in another direction; it is a
    candidate if its correlation is clearer.

    Args:
        strip: uint8 [H, W, 3] BGR, an upright plate.
    """
    longest = int(LONGEST * strip.shape[1])
    if longest < SHORTEST_PX or strip.shape[0] < 2:
        return []
    radians = torch.deg2rad(torch.tensor(DIRECTIONS_DEG, dtype=torch.float32))
    along = torch.stack((radians.cos(), radians.sin()), dim=1)
    correlation = _correlate(strip, along.to(strip.device)).cpu()
    steps = along[:, :, None] * torch.arange(SHORTEST_PX, longest + 1)
    x, y = steps.round().long().unbind(1)
    seen = correlation[torch.arange(len(along))[:, None], y, x]
    seen = seen / correlation[:, :1, 0].clamp(min=1e-6)
    least, at = seen.min(dim=1)
    rows, clearest = DIRECTIONS_DEG.index(0), int(least.argmin())
    chosen = [one for one in dict.fromkeys((rows, clearest)) if least[one] <= -LEAST_CORRELATION]
    return [Motion(*steps[one, :, at[one]].tolist()) for one in chosen]


def _correlate(strip: Tensor, along: Tensor) -> Tensor:
    """Return the autocorrelation of the derivative in each direction.

    Args:
        strip: uint8 [H, W, 3] BGR.
        along: Unit vectors of the directions, float32 [N, 2], x and y.

    Returns:
        float32 [N, rows, columns], by the shift down and to the right; negative shifts wrap round.
    """
    grey = strip.float() @ strip.new_tensor(GREY, dtype=torch.float32)
    room = round(LONGEST * grey.shape[1])  # for the longest shift
    size = [-(-(side + room) // FAST) * FAST for side in grey.shape]
    power = torch.fft.rfft2(_fade(grey - grey.mean()), s=size).abs().square()
    down = 2 * (torch.pi * torch.fft.fftfreq(size[0], device=strip.device)).sin()
    right = 2 * (torch.pi * torch.fft.rfftfreq(size[1], device=strip.device)).sin()
    slopes = along[:, 0, None, None] * right + along[:, 1, None, None] * down[:, None]
    correlation: Tensor = torch.fft.irfft2(power * slopes.square(), s=size)
    return correlation


def _fade(grey: Tensor) -> Tensor:
    """Fade [H, W] to 0 at its edges, which are no edges of the picture."""
    for dim, side in enumerate(grey.shape):
        ramp = ((torch.arange(side, device=grey.device) + 0.5) / (0.1 * side)).clamp(max=1)
        window = ramp * ramp.flip(0)
        grey = grey * (window[:, None] if dim == 0 else window)
    return grey


def deconvolve(strip: Tensor, motion: Motion, noise: float = NOISE) -> Tensor:
    """Remove the blur of a motion with a Wiener filter.

    Args:
        strip: uint8 [H, W, 3].
        motion: The motion that blurs it.
        noise: Power of the noise divided by that of the picture.

    Returns:
        uint8 [H, W, 3].
    """
    height, width = strip.shape[:2]
    x, y = (2 * round(abs(pixels)) + 8 for pixels in motion)  # so that opposite edges stay apart
    planes = F.pad(strip.permute(2, 0, 1).float(), (x, x, y, y), mode="replicate")
    rows, columns = planes.shape[1:]
    down = torch.fft.fftfreq(rows, device=strip.device)[:, None]
    right = torch.fft.rfftfreq(columns, device=strip.device)
    transfer = torch.sinc(motion.x * right + motion.y * down)
    spectrum = torch.fft.rfft2(planes) * (transfer / (transfer.square() + noise)) * (1 + noise)
    sharp = torch.fft.irfft2(spectrum, s=(rows, columns))[:, y : y + height, x : x + width]
    deblurred: Tensor = sharp.permute(1, 2, 0).round().clamp(0, 255).byte()
    return deblurred
