"""The pictures to send: rendered ones with a known number of plates, or files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.errors import DataError, PictureError
from orchestrator.formats.plate_formats import russian
from orchestrator.imaging.decoding import decode
from workshop.rendering.scenery import scene
from workshop.rendering.texts import random_text

SIZE_WH = (1280, 960)
SEED = 0
JPEG_QUALITY = 90


@dataclass(frozen=True)
class Picture:
    """A picture and its file; `plates` is None when their number is not known."""

    name: str
    file_bytes: bytes
    bgr: NDArray[np.uint8]
    plates: int | None = None


def prepare_pictures(files: Sequence[Path], plates: Sequence[int]) -> list[Picture]:
    """Read the files; without any, render a picture for each number of plates."""
    return read(files) if files else [render(count) for count in plates]


def render(count: int, size_wh: tuple[int, int] = SIZE_WH) -> Picture:
    """Draw a street with a number of ordinary plates, the same one every time."""
    rng = np.random.default_rng((SEED, count))
    texts = [random_text(rng, russian(), "ru_car")[0] for _ in range(count)]
    street = scene(texts, size_wh, seed=SEED)
    name = f"{count} plates" if count != 1 else "1 plate"
    return replace(encode(name, street.picture), plates=count)


def encode(name: str, bgr: NDArray[np.uint8]) -> Picture:
    """Encode a picture as a JPEG file; its pixels are decoded from that file."""
    _, jpeg = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return Picture(name, jpeg.tobytes(), decode(jpeg.tobytes()).numpy())


def read(paths: Sequence[Path]) -> list[Picture]:
    """Read picture files; each is named by its stem."""
    names = [path.stem for path in paths]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"file: wanted pictures of different names, got {twice[0]} twice")
    return [_read(path) for path in paths]


def _read(path: Path) -> Picture:
    try:
        file_bytes = path.read_bytes()
        return Picture(path.stem, file_bytes, decode(file_bytes).numpy())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except PictureError as error:
        raise DataError(f"{path}: {error}") from error
