"""Conversion of a caller's picture to the form that is sent: a file's bytes, or an array."""

from __future__ import annotations

import io
import os
import re
from collections.abc import AsyncIterable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from orchestrator.errors import PictureError
from orchestrator.imaging.files import Bgr, from_base64, is_base64, read_file, shorten
from orchestrator.imaging.heic import is_heic, to_jpeg

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

Picture: TypeAlias = Union[
    str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO, Bgr, "Tensor", "Image"
]

WANTED = (
    "picture: wanted a path, the bytes of a file or their base64 text, a file opened with 'rb', "
    "a PIL picture, "
    "or uint8 [H, W, 3] BGR"
)
URL = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
CREDENTIALS = re.compile("//[^/?#]*@")
DEEP_MODES = ("I", "F")  # prefixes of PIL's modes of 16 and 32 bits; others have at most 8


def load_picture(picture: Picture | None) -> bytes | Bgr:
    """Return a picture in the form that is sent. This needs neither PyTorch nor PIL.

    Args:
        picture: Path, bytes, base64 text or binary file object of a JPEG, PNG, WebP, BMP or, with
            the package pillow-heif, HEIC file. Or uint8 [H, W, 3] BGR as array or tensor on any
            device. Or a PIL picture of 8 bits a channel.

    Returns:
        The bytes of a file as they are, of a HEIC file as JPEG, and everything else as uint8
        [H, W, 3] BGR.

    Raises:
        PictureError: The value holds no picture.
    """
    if picture is None:
        raise PictureError(
            f"{WANTED}, got None, which is what cv2.imread gives for a file that it cannot read"
        )
    if isinstance(picture, (bytes, bytearray, memoryview)):
        return _some(bytes(picture), "picture")
    if isinstance(picture, (str, os.PathLike)):
        return _read_text(os.fsdecode(picture))
    if hasattr(picture, "convert") and hasattr(picture, "getexif"):
        return _check(_from_pil(picture))
    if hasattr(picture, "read"):
        return _read_file(picture)
    if hasattr(picture, "__array__"):
        return _check(_to_array(picture))
    raise PictureError(f"{WANTED}, got {type(picture).__name__}")


def check_several(name: str, pictures: Any) -> None:
    """Check that these are several pictures. A single picture can often be iterated over, too.

    Raises:
        PictureError: The value is a single picture, or no pictures at all.
    """
    is_one = isinstance(pictures, (str, bytes, bytearray, memoryview)) or hasattr(pictures, "read")
    has_pixels = getattr(pictures, "ndim", 1) in (2, 3)  # a column of paths has one dimension
    if is_one or has_pixels or not isinstance(pictures, (Iterable, AsyncIterable)):
        raise PictureError(f"{name}: wanted several pictures, got one {type(pictures).__name__}")


def _read_text(text: str) -> bytes:
    """Return the picture file that a text holds as base64, or that it names."""
    if is_base64(text) and not os.path.exists(text):  # noqa: PTH110 - it never raises
        return from_base64(text.strip().encode(errors="replace"))
    if URL.match(text):
        url = shorten(CREDENTIALS.sub("//", text))
        raise PictureError(
            f"picture: wanted a path or the bytes of a file, got the URL {url}; fetch it first: "
            "a client fetches nothing (plates recognize does)"
        )
    return _some(read_file(text), shorten(text))


def _read_file(file: Any) -> bytes:
    if isinstance(file, io.TextIOBase):
        raise PictureError("picture: open the file with 'rb', not as text")
    try:
        content = file.read()
    except (OSError, ValueError) as error:  # ValueError: the file is closed
        raise PictureError(f"picture: cannot be read: {error}") from error
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise PictureError(
            f"picture: wanted bytes from read() of the file, got {type(content).__name__}"
        )
    return _some(bytes(content), "picture: a file object that is read from where it stands")


def _some(content: bytes, name: str) -> bytes:
    if not content:
        raise PictureError(f"{name}: wanted a JPEG, PNG, WebP or BMP file, got no bytes")
    if not is_heic(content):
        return content
    try:
        return to_jpeg(content)
    except PictureError as error:
        raise PictureError(f"{name}: {error}") from error


def _from_pil(picture: Any) -> Bgr:
    """Rotate a PIL picture upright and convert it to BGR. Transparency is ignored, as in files."""
    from PIL import ImageOps  # the caller has a PIL picture, so PIL is installed

    if picture.mode.startswith(DEEP_MODES):
        raise PictureError(
            f"picture: wanted a PIL picture of 8 bits a channel, got mode {picture.mode}"
        )
    try:
        upright = ImageOps.exif_transpose(picture)
        opaque = upright.convert("RGBA") if picture.mode in {"P", "PA"} else upright
        return np.asarray(opaque.convert("RGB"))[:, :, ::-1]
    except (OSError, ValueError, SyntaxError) as error:
        raise PictureError(f"picture: PIL cannot read it: {error}") from error


def _to_array(picture: Any) -> npt.NDArray[Any]:
    """Return an array or tensor, on any device, as an array."""
    try:
        return np.asarray(picture.detach().cpu() if hasattr(picture, "detach") else picture)
    except (TypeError, ValueError, RuntimeError) as error:  # bfloat16, sparse, without a device
        raise PictureError(f"picture: wanted uint8 [H, W, 3] BGR, got {error}") from error


def _check(array: npt.NDArray[Any]) -> Bgr:
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise PictureError(
            f"picture: wanted uint8 [H, W, 3] BGR, got {array.dtype} {list(array.shape)}"
        )
    return array
