"""The letterbox: a picture scaled and padded to the size of the detector's input."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from orchestrator.arrays import Array, empty_like, to_numpy

STRIDE = 32
PAD_GREY = 114  # the padding value that YOLOv5 is trained with
TRIM_PX = 8
"""Padding is trimmed in multiples of this, so that the rest can be halved without remainder. OpenCV
takes ten times as long where a remainder is left."""


@dataclass(frozen=True)
class Letterbox:
    """A picture scaled and centred on grey; carries its own inverse: net = source * scale + offset.

    Attributes:
        net: uint8 [1, H, W, 3], H and W multiples of 32.
        scale: Net pixels per source pixel.
        offset_xy: Position of the picture's first pixel in the net, pixels.
    """

    net: Array
    scale: float
    offset_xy: tuple[float, float]

    def trim(self) -> Letterbox:
        """Return the letterbox with less than `TRIM_PX` of padding at the left and at the top."""
        (left, top), (height, width) = map(int, self.offset_xy), self.net.shape[1:3]
        x, y = left - left % TRIM_PX, top - top % TRIM_PX
        net = self.net[:, y : height - y, x : width - x]
        return Letterbox(net, self.scale, (left - x, top - y))

    def to_net(self, xyxy: Array) -> Array:
        """Map boxes [N, 4] from picture pixels to net pixels."""
        return xyxy * self.scale + np.array(self.offset_xy * 2, np.float32)

    def to_source(self, xyxy: Array) -> Array:
        """Map boxes [N, 4] from net pixels to picture pixels."""
        return (xyxy - np.array(self.offset_xy * 2, np.float32)) / self.scale


def letterbox(picture: Array, side_px: int) -> Letterbox:
    """Fit a picture into the detector's input without stretching it.

    The longer side becomes `side_px`; a smaller picture is not enlarged. Both sides are padded to
    the next multiple of 32, so a wide picture costs less than a square.

    Args:
        picture: uint8 [H, W, 3].
        side_px: Longest side of the network input, a multiple of 32.
    """
    height, width = picture.shape[:2]
    scale = min(1.0, side_px / max(height, width))
    inner_hw = (max(1, round(height * scale)), max(1, round(width * scale)))
    net_h, net_w = (math.ceil(side / STRIDE) * STRIDE for side in inner_hw)
    top, left = (net_h - inner_hw[0]) // 2, (net_w - inner_hw[1]) // 2
    net = empty_like(picture, (1, net_h, net_w, 3))
    net[:] = PAD_GREY
    resize_into(picture, net[0, top : top + inner_hw[0], left : left + inner_hw[1]])
    return Letterbox(net, scale, (left, top))


def resize_into(picture: Array, out: Array) -> None:
    """Scale uint8 [H, W, 3] to the size of `out`.

    It is halved by area means while possible, then sampled with bilinear interpolation. This is
    twice as fast as bilinear sampling with antialiasing. Only the last row or column of an odd side
    is skipped: with it, the means of PyTorch would blur the picture.
    """
    resize = resize_by_pytorch if getattr(picture, "is_cuda", False) else resize_by_opencv
    height, width = out.shape[:2]
    while min(picture.shape[0] // height, picture.shape[1] // width) >= 2:
        half = empty_like(picture, (picture.shape[0] // 2, picture.shape[1] // 2, 3))
        resize(picture[: 2 * len(half), : 2 * half.shape[1]], half, "area")
        picture = half
    if picture.shape == out.shape:
        out[:] = picture
    else:
        resize(picture, out, "bilinear")


def resize_by_opencv(picture: Array, out: Array, mode: str) -> None:
    """Resize uint8 [H, W, 3] into `out`, on the CPU; the mode is "area" or "bilinear"."""
    height, width = out.shape[:2]
    how = cv2.INTER_AREA if mode == "area" else cv2.INTER_LINEAR
    cv2.resize(to_numpy(picture), (width, height), dst=to_numpy(out), interpolation=how)


def resize_by_pytorch(picture: Array, out: Array, mode: str) -> None:
    """Resize as `resize_by_opencv` does, on any device."""
    import torch.nn.functional as F  # noqa: N812 - the name everybody knows

    planes = picture.permute(2, 0, 1)[None].float()
    resized = F.interpolate(planes, tuple(out.shape[:2]), mode=mode)
    out.copy_(resized.round_()[0].permute(1, 2, 0))
