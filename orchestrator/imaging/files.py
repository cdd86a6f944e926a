"""Picture files from a disk, as bytes or as base64 text, and their pixels.

A client has all that this module needs, except OpenCV for the pixels; `decoding` makes tensors of
them.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from orchestrator.errors import PictureError
from orchestrator.imaging.headers import Header
from orchestrator.imaging.orientation import turn_upright
from orchestrator.imaging.segments import END_OF_JPEG, keep_pixels

Bgr = npt.NDArray[np.uint8]

SUFFIXES = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp"}
CUT_NOTE = "the end of the file is missing; what is there was read"
MAX_MISSING = 0.1
"""Largest share of a JPEG's rows that may be missing at its end."""
FILLER = 128
"""The grey with which a decoder fills missing rows."""
BASE64_OF = (b"/9j/", b"_9j_", b"iVBOR", b"UklGR", b"Qk", b"data:")
"""Prefixes of the base64 text of a JPEG, PNG, WebP or BMP file, bare or as a data URL. No file of
these formats itself begins so."""
DATA_URL = re.compile(rb"data:image/[\w.+-]+;base64,")
MAX_FILE_MB = 512
"""Largest file that is read, in MiB. A BMP of the most pixels that servers take has 143."""
PIECE_BYTES = 1 << 20
MAX_NAME_CHARACTERS = 100  # characters of a path in a message
LINE_BREAKS = b"\r\n"
FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
MIN_BASE64_CHARACTERS = 64
"""Shorter texts are file names; the smallest picture file has more characters."""

HEADER_BYTES = {b"\x89PNG": 33, b"\xff\xd8": 20}
"""Prefixes of PNG and JPEG files from OpenCV, and the position of our label in them. The label
follows the signature and the first chunk of a PNG, or the JFIF segment of a JPEG."""
DRAWING, CROP = b"orchestrator", b"orchestrator crop"
"""Labels of the files that we make: a drawing, which must not be recognised, or a plate that was
cut out."""
LABEL_BYTES = 128
"""Bytes to read from a file: more than its beginning with our label."""


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        PictureError: The file cannot be read, or is too large.
    """
    try:
        with Path(path).open("rb") as file:
            return read_all(file, f"{shorten(path)}: ")
    except (OSError, ValueError) as error:  # ValueError: a null byte
        reason = getattr(error, "strerror", None) or error
        raise PictureError(f"{shorten(path)}: cannot be read: {reason}") from error


def read_all(file: BinaryIO, prefix: str = "") -> bytes:
    """Return the bytes of an open file, which may be a device or a stream without an end.

    Args:
        file: The open file.
        prefix: Beginning of the error's message.

    Raises:
        PictureError: It is too large.
        OSError: It cannot be read.
    """
    parts, size = list[bytes](), 0
    while part := file.read(PIECE_BYTES):
        size += len(part)
        if size > MAX_FILE_MB << 20:
            raise PictureError(f"{prefix}wanted a file of up to {MAX_FILE_MB} MB, got a larger one")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def shorten(path: str | Path) -> str:
    """Return a path for an error message, cut short: some callers pass base64 instead."""
    name = str(path) or "''"
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:MAX_NAME_CHARACTERS]}..."


def from_base64(content: bytes) -> bytes:
    """Return the picture file from its base64 text; return other bytes unchanged.

    JSON has no bytes, so clients without a library send base64 text.

    Args:
        content: A picture file, or its base64 text, ordinary or safe for URLs. The text may have
            line breaks, may lack its padding, and may begin with `data:image/...;base64,`.

    Raises:
        PictureError: The text is damaged.
    """
    if not content.startswith(BASE64_OF):
        return content
    prefix = DATA_URL.match(content)
    text = content[prefix.end() :] if prefix else content
    text = text.translate(FROM_URL_SAFE, LINE_BREAKS)
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise PictureError(
            f"encoded_image: wanted the base64 text of a picture file, "
            f"got {len(content)} damaged characters ({error})"
        ) from error


def is_base64(text: str) -> bool:
    """Tell whether a text is a picture file in base64, and not the name of one."""
    return len(text) >= MIN_BASE64_CHARACTERS and text.encode(errors="replace").startswith(
        BASE64_OF
    )


def unpack(file: bytes, header: Header) -> Bgr:
    """Return the pixels of a picture file.

    Args:
        file: The file's bytes.
        header: The file's header. If its end is missing, the existing part is decoded.

    Returns:
        uint8 [H, W, 3] BGR, EXIF orientation applied.

    Raises:
        PictureError: Some parts of it cost too much, or OpenCV cannot read it, or too much of it
            is missing.
    """
    name = f"{header.width}x{header.height} picture"
    complete_file = file if header.is_one_scan else keep_pixels(file, name)
    complete_file += END_OF_JPEG if header.is_cut else b""
    is_plain = header.is_one_scan and not header.is_cut
    pixels = _decode_jpeg(complete_file) if is_plain else None
    if pixels is None:
        pixels = _decode_by_opencv(complete_file, name)
    if header.is_cut:
        _check_missing(pixels, name)
    return turn_upright(pixels, header.orientation)


def _decode_jpeg(jpeg: bytes) -> Bgr | None:
    """Return the pixels of a JPEG of one scan: those that OpenCV gives, in less time.

    Both use libjpeg-turbo, but OpenCV copies the pixels to new memory once more.

    Returns:
        None if simplejpeg finds any fault or is not installed. OpenCV then reads or rejects it.
    """
    with suppress(ImportError, ValueError, MemoryError):
        from simplejpeg import decode_jpeg

        return np.asarray(decode_jpeg(jpeg, "BGR", strict=True))
    return None


def _decode_by_opencv(file: bytes, name: str) -> Bgr:
    import cv2  # half of a client's size, so it is optional

    flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        bgr = cv2.imdecode(np.frombuffer(file, np.uint8), flags)
    except cv2.error as error:
        raise PictureError(f"encoded_image: damaged {name}") from error
    if bgr is None:
        raise PictureError(f"encoded_image: damaged {name}")
    return np.asarray(bgr, np.uint8)


def _check_missing(bgr: Bgr, name: str) -> None:
    """Reject a picture of which too many rows are missing; a decoder fills them with grey."""
    rows = len(bgr)
    is_filled = (bgr[::-1] == FILLER).all(axis=(1, 2))
    missing_rows = rows if is_filled.all() else int(is_filled.argmin())
    if missing_rows > MAX_MISSING * rows:
        raise PictureError(
            f"encoded_image: damaged {name}: wanted at most {MAX_MISSING:.0%} of the rows missing, "
            f"got {missing_rows} of {rows}"
        )


def mark(picture: bytes, kind: bytes = DRAWING) -> bytes:
    """Return a PNG or JPEG file with our label for its kind."""
    at = next(size for begin, size in HEADER_BYTES.items() if picture.startswith(begin))
    return picture[:at] + _label(picture, kind) + picture[at:]


def is_drawing(path: Path) -> bool:
    """Tell whether a file has the label of a drawing, see `mark`."""
    return _is_marked(path, DRAWING)


def is_crop(path: Path) -> bool:
    """Tell whether a file has the label of a crop, see `mark`."""
    return _is_marked(path, CROP)


def _is_marked(path: Path, kind: bytes) -> bool:
    if path.suffix not in {".png", ".jpg"} or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(LABEL_BYTES)
    except OSError:  # the code that reads the picture gives the reason
        return False
    sizes = (size for begin, size in HEADER_BYTES.items() if head.startswith(begin))
    return any(head[size:].startswith(_label(head, kind)) for size in sizes)


def _label(file: bytes, kind: bytes) -> bytes:
    """Return the bytes of a label: a tEXt chunk of a PNG, or a comment of a JPEG."""
    if file.startswith(b"\xff\xd8"):
        return b"\xff\xfe" + (len(kind) + 2).to_bytes(2, "big") + kind
    chunk = b"tEXtSoftware\0" + kind
    size, checksum = len(chunk) - 4, zlib.crc32(chunk)
    return size.to_bytes(4, "big") + chunk + checksum.to_bytes(4, "big")
