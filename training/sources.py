"""Where samples come from: plates drawn by a country's renderer, and cuts of real crops.

Each is called with a generator, from which alone its sample follows, and can be pickled for a
worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.errors import SettingsError
from orchestrator.picture_files import Bgr
from rendering.camera import compress, photograph, shrink
from rendering.country import Country, country_of
from rendering.painting import GlyphSource
from rendering.russia import load_font
from rendering.synth import Crop, Sample, cut, jitter_box, render_sample
from training.crops import RealCrop, inner_box

Source = Callable[[np.random.Generator], Sample]
UNKNOWN_CORNERS = np.full((4, 2), np.nan, np.float32)


@dataclass(frozen=True)
class RenderedPlates:
    """Plates of a country, some of them with the characters of a font.

    Attributes:
        formats: The country's file; read once in each process.
        font: TrueType font.
    """

    formats: Path
    font: Path | None = None

    def __call__(self, rng: np.random.Generator) -> Sample:
        font = _read_font(self.font) if self.font else None
        return render_sample(rng, font=font, country=_read_country(self.formats))


@lru_cache(maxsize=4)
def _read_country(formats: Path) -> Country:
    return country_of(formats)


@lru_cache(maxsize=4)
def _read_font(font: Path) -> GlyphSource:
    return load_font(font)


def check_font(font: Path) -> None:
    """See that plates can be drawn with a font.

    Raises:
        SettingsError: It is no TrueType file that can be read.
    """
    try:
        _read_font(font)
    except OSError as error:
        raise SettingsError(
            f"{font}: wanted a TrueType font, got {error.strerror or error}"
        ) from error


@dataclass(frozen=True)
class RealPlates:
    """Cuts of evenly drawn real crops."""

    crops: tuple[RealCrop, ...]

    def __call__(self, rng: np.random.Generator) -> Sample:
        crop = self.crops[int(rng.integers(len(self.crops)))]
        return Sample(cut_real(rng, crop), crop.text, UNKNOWN_CORNERS)


def cut_real(rng: np.random.Generator, crop: RealCrop) -> Crop:
    """Cut a real plate out again, a little elsewhere, turned and in other light."""
    picture = crop.picture
    if rng.random() < 0.4 and picture.shape[1] > 110:  # as if from further away
        size_w = float(np.exp(rng.uniform(np.log(70), np.log(picture.shape[1]))))
        factor = size_w / picture.shape[1]
        picture = shrink(picture, factor)
    picture, box = _turn(rng, picture)
    if rng.random() < 0.25:
        picture = photograph(rng, picture)
    elif rng.random() < 0.4:
        picture = compress(picture, int(rng.integers(30, 96)))
    return cut(picture, box, crop.lines)


def _turn(rng: np.random.Generator, picture: Bgr) -> tuple[Bgr, NDArray[np.float64]]:
    """Turn and shear a crop within a wider border; returns it with a detector's box of the plate.

    The border continues the outermost pixels, for boxes looser than the crop is.
    """
    height, width = picture.shape[:2]
    pad_wh = np.array([0.2 * width, 0.5 * height]).round()
    low, high = (inner_box(picture).reshape(2, 2) + pad_wh).tolist()
    box = jitter_box(rng, np.array([low, [high[0], low[1]], high, [low[0], high[1]]]))
    size_wh = (width + 2 * int(pad_wh[0]), height + 2 * int(pad_wh[1]))
    middle = (width / 2, height / 2)
    turn = np.array(cv2.getRotationMatrix2D(middle, float(rng.normal(0, 2.5)), 1.0), np.float64)
    shear = float(rng.normal(0, 0.12))
    turn[0, 1] += shear
    turn[:, 2] += pad_wh - [shear * height / 2, 0]
    turned = cv2.warpAffine(
        picture, turn, size_wh, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return turned.astype(np.uint8), box
