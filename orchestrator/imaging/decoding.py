"""Decodes picture files to tensors, within the limits of memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.arrays import Array
from orchestrator.errors import Overloaded, PictureError
from orchestrator.imaging.files import Bgr, read_file, unpack
from orchestrator.imaging.headers import Header, check_file, check_pixels

if TYPE_CHECKING:
    from torch import Tensor

UNPACKING = 12
"""Bytes of memory for each pixel of any file: its three colours, four times."""


def read_picture(path: str | Path, *, max_pixels: int = 50_000_000) -> Tensor:
    """Read a picture file.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: The file is missing, or `decode` cannot use its bytes.
    """
    return decode(read_file(path), max_pixels=max_pixels)


def decode(encoded: bytes, *, max_pixels: int = 50_000_000) -> Tensor:
    """Decode one file as `decode_bgr` does, to a tensor of PyTorch."""
    import torch

    return torch.from_numpy(decode_bgr(encoded, max_pixels=max_pixels))


def decode_bgr(file: bytes, *, max_pixels: int = 50_000_000) -> Bgr:
    """Decode one JPEG, PNG, WebP or BMP file.

    The header is read first, so a small file that unpacks to a huge picture is rejected early.

    Args:
        file: The file's bytes.
        max_pixels: Largest width x height accepted.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: The file has another format, is damaged, too large, or an animation.
        Overloaded: There is not enough memory for it now.
    """
    return unpack_bgr(file, check_file(file, max_pixels))


def unpack_bgr(file: bytes, header: Header) -> Bgr:
    """Decode a file whose header was checked; see `decode_bgr`."""
    try:
        return unpack(file, header)
    except PictureError:
        name = f"{header.width}x{header.height} picture"
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


def check_picture(picture: Array, *, max_pixels: int) -> Array:
    """Return the picture if it is uint8 [H, W, 3] with at least one and not too many pixels.

    Raises:
        PictureError: It is not.
    """
    if not hasattr(picture, "dtype"):
        raise PictureError(
            "input__0: wanted a UINT8 picture of shape [height, width, 3], "
            f"got {type(picture).__name__}; read_picture makes a picture of a file"
        )
    is_numpy = isinstance(picture, np.ndarray)  # the text of its type takes long
    is_uint8 = picture.dtype == np.uint8 if is_numpy else str(picture.dtype) == "torch.uint8"
    if not is_uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise PictureError(
            "input__0: wanted a UINT8 picture of shape [height, width, 3], "
            f"got {picture.dtype} {list(picture.shape)}"
        )
    check_pixels(picture.shape[1], picture.shape[0], max_pixels)
    return picture
