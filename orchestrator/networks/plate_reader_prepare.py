"""The first step of the ensemble `plate_reader`: any crop of a plate becomes the reader's input."""

from __future__ import annotations

from torch import Tensor, nn

from orchestrator.reading.sizes import MAX_CROP_PIXELS
from orchestrator.reading.torch_crops import normalize_crops, resize_crop


class CropPreparation(nn.Module):
    """uint8 [H, W, 3] BGR of any size -> float32 [1, 3, 24, 94], as `crop_plates` makes it.

    It is compiled by `torch.jit.script`, which keeps the sizes open; a trace would contain the
    sizes of its example.
    """

    __constants__ = ("max_pixels",)
    max_pixels = MAX_CROP_PIXELS

    def forward(self, crop: Tensor) -> Tensor:
        height, width = crop.size(0), crop.size(1)
        if not 0 < height * width <= self.max_pixels:
            raise RuntimeError(
                f"crop: wanted 1 to {self.max_pixels} pixels, got {width}x{height} pixels"
            )
        return normalize_crops(resize_crop(crop))
