"""The first step of the ensemble `plate_reader` on a CPU: a crop becomes the reader's input.

`networks.plate_reader_prepare` is the same step in TorchScript, which needs PyTorch: 130 MB more.
"""

from __future__ import annotations

from orchestrator.contract import Array
from orchestrator.errors import PictureError
from orchestrator.reading.crops import normalize_crops, resize_crop
from orchestrator.reading.sizes import MAX_CROP_PIXELS
from orchestrator.triton.functions import Function, model_of


def prepare_crop(crop: Array) -> tuple[Array]:
    """Turn a crop, uint8 [H, W, 3] BGR of any size, into float32 [1, 3, 24, 94].

    Raises:
        PictureError: It has no pixels, or too many.
    """
    height, width = crop.shape[:2]
    if not 0 < height * width <= MAX_CROP_PIXELS:
        raise PictureError(
            f"crop: wanted 1 to {MAX_CROP_PIXELS} pixels, got {width}x{height} pixels"
        )
    return (normalize_crops(resize_crop(crop)),)


def start() -> Function:
    """Return the step."""
    return prepare_crop


TritonPythonModel = model_of(start)
