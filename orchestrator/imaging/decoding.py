"""Pictures: from files and bytes to tensors, to the detector's letterbox, to the reader's crops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor

from orchestrator.detection.boxes import clip, grow
from orchestrator.errors import Overloaded, PictureError
from orchestrator.imaging.files import read_file, unpack
from orchestrator.imaging.headers import check_file, check_pixels

READER_SIZE_WH = (94, 24)
STRIDE = 32
UNPACKING = 12
"""Bytes of memory for each pixel of any file: its three colours, four times."""
PAD_GREY = 114  # the padding value that YOLOv5 is trained with
TALLEST_PX = 4096
"""Greatest height of a crop that is resized to the reader's size in one step. PyTorch first widens
each row to 94 pixels: a crop of 1x1,000,000 took 1.1 GB and 19 s."""
MARGIN_XY = (0.08, 0.25)  # a box may be too tight; STN finds plates in wide crops


def read_picture(path: str | Path, *, max_pixels: int = 50_000_000) -> Tensor:
    """Read a picture file.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: The file is missing, or `decode` cannot use its bytes.
    """
    return decode(read_file(path), max_pixels=max_pixels)


def decode(encoded: bytes, *, max_pixels: int = 50_000_000) -> Tensor:
    """Decode one JPEG, PNG, WebP or BMP file.

    The header is read first, so a small file that unpacks to a huge picture is rejected early.

    Args:
        encoded: The file's bytes.
        max_pixels: Largest width x height accepted.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: The file has another format, is damaged, too large, or an animation.
        Overloaded: There is not enough memory for it now.
    """
    header = check_file(encoded, max_pixels)
    name = f"{header.width}x{header.height} picture"
    try:
        return torch.from_numpy(unpack(encoded, name))
    except PictureError:
        check_memory(header.width * header.height, name)  # OpenCV gives no reason for either
        raise


def check_memory(pixels: int, name: str) -> None:
    """Check that lack of memory was not the reason why a picture could not be unpacked.

    Raises:
        Overloaded: There is not enough memory to unpack it.
    """
    try:
        np.empty(UNPACKING * pixels, np.uint8)
    except MemoryError as error:
        raise Overloaded(f"wanted memory for a {name}, got none") from error


def check_picture(picture: Tensor, *, max_pixels: int) -> Tensor:
    """Return the picture if it is uint8 [H, W, 3] with at least one and not too many pixels.

    Raises:
        PictureError: It is not.
    """
    if picture.dtype != torch.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise PictureError(
            "input__0: wanted a UINT8 picture of shape [height, width, 3], "
            f"got {picture.dtype} {list(picture.shape)}"
        )
    check_pixels(picture.shape[1], picture.shape[0], max_pixels)
    return picture


@dataclass(frozen=True)
class Letterbox:
    """A picture scaled and centred on grey; carries its own inverse: net = source * scale + offset.

    Attributes:
        net: uint8 [1, H, W, 3], H and W multiples of 32.
        scale: Net pixels per source pixel.
        offset_xy: Position of the picture's first pixel in the net, pixels.
    """

    net: Tensor
    scale: float
    offset_xy: tuple[int, int]

    def to_net(self, xyxy: Tensor) -> Tensor:
        """Map boxes [N, 4] from picture pixels to net pixels."""
        return xyxy * self.scale + xyxy.new_tensor(self.offset_xy * 2)

    def to_source(self, xyxy: Tensor) -> Tensor:
        """Map boxes [N, 4] from net pixels to picture pixels."""
        return (xyxy - xyxy.new_tensor(self.offset_xy * 2)) / self.scale


def letterbox(picture: Tensor, side_px: int) -> Letterbox:
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
    net = picture.new_full((1, net_h, net_w, 3), PAD_GREY)
    _shrink(picture, net[0, top : top + inner_hw[0], left : left + inner_hw[1]])
    return Letterbox(net, scale, (left, top))


def _shrink(picture: Tensor, out: Tensor) -> None:
    """Scale uint8 [H, W, 3] down into `out`: halve by area means while possible, then bilinear.

    This is twice as fast as bilinear sampling with antialiasing, and also skips no pixel.
    """
    height, width = out.shape[:2]
    while min(picture.shape[0] // height, picture.shape[1] // width) >= 2:
        half = picture.new_empty((picture.shape[0] // 2, picture.shape[1] // 2, 3))
        _resize(picture, half, "area")
        picture = half
    _resize(picture, out, "bilinear")


def _resize(picture: Tensor, out: Tensor, mode: str) -> None:
    """Resize with OpenCV on the CPU, and with the same method in PyTorch on a GPU."""
    height, width = out.shape[:2]
    if picture.shape == out.shape:
        out.copy_(picture)
    elif picture.is_cuda:
        planes = picture.permute(2, 0, 1)[None].float()
        resized = F.interpolate(planes, (height, width), mode=mode)
        out.copy_(resized.round_()[0].permute(1, 2, 0))
    else:
        how = cv2.INTER_AREA if mode == "area" else cv2.INTER_LINEAR
        cv2.resize(picture.numpy(), (width, height), dst=out.numpy(), interpolation=how)


def crop_plates(
    picture: Tensor,
    xyxy: Tensor,
    margin_xy: tuple[float, float] = MARGIN_XY,
    *,
    lines: int = 1,
) -> Tensor:
    """Cut plates out of the full-size picture for STN and LPRNet.

    Each box is grown by the margin, because detectors give tight boxes, and clipped to the picture.

    Args:
        picture: uint8 [H, W, 3] BGR.
        xyxy: float32 [N, 4] picture pixels.
        margin_xy: Growth at each side as a fraction of the box's width and height.
        lines: Lines of the plates; plates of 2 lines are unfolded to one row of characters.

    Returns:
        float32 [N, 3, 24, 94] RGB, (x - 127.5) / 128, on the picture's device.
    """
    width, height = READER_SIZE_WH
    crops = picture.new_empty((len(xyxy), 3, height, width), dtype=torch.float32)
    for crop, (x0, y0, x1, y1) in zip(crops, crop_boxes(picture, xyxy, margin_xy), strict=True):
        cut = picture[y0:y1, x0:x1]
        crop.copy_(resize_crop(cut if lines == 1 else unfold(cut))[0])
    return normalize_crops(crops)


def unfold(crop: Tensor) -> Tensor:
    """Put the upper half of a crop left of its lower half: [H, W, 3] becomes [(H + 1) // 2, 2W, 3].

    If the number of rows is odd, the middle row is in both halves.
    """
    height = len(crop)
    return torch.cat((crop[: (height + 1) // 2], crop[height // 2 :]), dim=1)


def resize_crop(
    crop: Tensor, size_wh: tuple[int, int] = READER_SIZE_WH, tallest_px: int = TALLEST_PX
) -> Tensor:
    """Resize a crop, uint8 [H, W, 3], to the reader's size: float32 [1, 3, 24, 94].

    TorchScript can compile it, like `normalize_crops`: the ensemble `plate_reader` runs the same
    code.
    """
    width, height = size_wh
    planes = crop.permute(2, 0, 1)[None].float()
    if planes.shape[2] > tallest_px:
        planes = F.interpolate(planes, (height, planes.shape[3]), mode="bicubic", antialias=True)
    return F.interpolate(planes, (height, width), mode="bicubic", antialias=True)


def normalize_crops(crops: Tensor) -> Tensor:
    """Turn float32 [N, 3, 24, 94] BGR in about [0, 255] into RGB, (x - 127.5) / 128."""
    return crops.flip(1).clamp_(0, 255).sub_(127.5).div_(128)


def crop_boxes(
    picture: Tensor, xyxy: Tensor, margin_xy: tuple[float, float] = MARGIN_XY
) -> list[tuple[int, int, int, int]]:
    """Return the whole-pixel boxes, at least one pixel each way, that `crop_plates` cuts out."""
    height, width = picture.shape[:2]
    boxes = clip(grow(xyxy.cpu(), margin_xy), (width, height)).round().int().tolist()
    corners = ((min(x0, width - 1), min(y0, height - 1), x1, y1) for x0, y0, x1, y1 in boxes)
    return [(x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)) for x0, y0, x1, y1 in corners]
