"""Sources of samples: plates drawn by a country's renderer, and cuts of real crops.

A source is called with a generator, which alone determines its sample. Sources can be pickled for a
worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats, read_formats
from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Quad, compress, photograph, shrink
from workshop.rendering.country import Country, country_of
from workshop.rendering.painting import GlyphSource
from workshop.rendering.russia import load_font
from workshop.rendering.samples.photos import WIDTHS_PX, Photo, bumper
from workshop.rendering.samples.synth import Sample, cut_sample, render_sample
from workshop.rendering.samples.troubles import TROUBLES, add_trouble
from workshop.training.reader.characters import Places, exchange, locate_all
from workshop.training.reader.crops import RealCrop
from workshop.training.reader.region_codes import (
    Donors,
    can_replace,
    capped_shares,
    group_by_letter,
    group_by_region,
    group_donors,
    replace_code,
)

Source = Callable[[np.random.Generator], Sample]
MIN_PX, SMALL_PX = 34, 58
"""Smallest width to which real crops are shrunk, and greatest of small ones, with margins."""
SMALL_WIDTHS_PX = (28.0, 50.0)
"""Widths of small rendered plates of 520 x 112 mm."""


@dataclass(frozen=True)
class RenderedPlates:
    """Source of a country's rendered plates, some of them with the characters of a font.

    Attributes:
        formats: The country's file; each process reads it once.
        font: TrueType font.
        small_share: Share of the plates that have few pixels, beside those that have few by chance.
        even_share: Share of the plates whose format is drawn evenly, not by its share.
        two_line_share: Share of the plates that have two lines, beside those by chance.
        hard_share: Share of the plates that are hard to read in one way.
        doubled_share: Share of the plates whose text gets two equal characters at one end.
        troubles: These ways, drawn evenly.
    """

    formats: Path
    font: Path | None = None
    small_share: float = 0.0
    even_share: float = 0.0
    two_line_share: float = 0.0
    hard_share: float = 0.0
    doubled_share: float = 0.0
    troubles: tuple[str, ...] = TROUBLES

    def __call__(self, rng: np.random.Generator) -> Sample:
        font = _read_font(self.font) if self.font else None
        country = replace(_read_country(self.formats), doubled_share=self.doubled_share)
        widths_px = SMALL_WIDTHS_PX if _happens(rng, self.small_share) else WIDTHS_PX
        name = str(rng.choice(country.drawn_formats)) if _happens(rng, self.even_share) else None
        if _happens(rng, self.two_line_share) and country.two_lined:
            name = str(rng.choice(country.two_lined))
        trouble = str(rng.choice(self.troubles)) if _happens(rng, self.hard_share) else None
        return render_sample(rng, name, font, country=country, widths_px=widths_px, trouble=trouble)


def _happens(rng: np.random.Generator, share: float) -> bool:
    """Draw whether something with a share happens; without a share, nothing is drawn."""
    return share > 0 and bool(rng.random() < share)


@lru_cache(maxsize=4)
def _read_country(formats: Path) -> Country:
    return country_of(formats)


@lru_cache(maxsize=4)
def _read_font(font: Path) -> GlyphSource:
    return load_font(font)


def check_font(font: Path) -> None:
    """Check that plates can be drawn with a font.

    Raises:
        SettingsError: The file is not a readable TrueType font.
    """
    try:
        _read_font(font)
    except OSError as error:
        raise SettingsError(
            f"{font}: wanted a TrueType font, got {error.strerror or error}"
        ) from error


@dataclass(frozen=True)
class RealPlates:
    """Source of cuts from real crops; no region and no first letter is drawn too often.

    Attributes:
        formats: The country's file.
        most_of_region: Greatest share of the draws of one region.
        most_of_letter: Greatest share of the draws of one first letter; it goes before the limit on
            regions where both cannot hold.
        exchanged: Share of the cars' plates that get characters of other plates, where the places
            of their characters can be seen.
        hard_share: Share of the plates that are hard to read in one way.
        troubles: These ways, drawn evenly.
        new_codes: Share of the cars' plates that get another region code, if it can be drawn.
        small_share: Share of the plates that have few pixels, beside those that have few by chance.
    """

    crops: tuple[RealCrop, ...]
    formats: Path
    most_of_region: float = 1.0
    new_codes: float = 0.0
    small_share: float = 0.0
    most_of_letter: float = 1.0
    exchanged: float = 0.0
    hard_share: float = 0.0
    troubles: tuple[str, ...] = TROUBLES

    def __call__(self, rng: np.random.Generator) -> Sample:
        crop = self.draw(rng)
        if not _happens(rng, self.hard_share):
            return see_again(rng, crop, self.small_share)
        photo = _see_hardly(rng, crop, str(rng.choice(self.troubles)))
        return cut_sample(rng, photo, is_known=crop.corners is not None)

    def draw(self, rng: np.random.Generator) -> RealCrop:
        """Draw a crop; it may get other characters, and another region code."""
        crop = self.crops[int(rng.choice(len(self.crops), p=self._shares))]
        if _happens(rng, self.exchanged) and crop.name in self._places.of_crops:
            crop = exchange(rng, crop, self._places)
        if rng.random() >= self.new_codes or not can_replace(crop, self._plates):
            return crop
        return replace_code(rng, crop, self._donors, _read_country(self.formats))

    @cached_property
    def _plates(self) -> Formats:
        return read_formats(self.formats)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        by_region = group_by_region(self.crops, self._plates)
        shares = capped_shares(by_region, self.most_of_region)
        return capped_shares(group_by_letter(self.crops), self.most_of_letter, shares)

    @cached_property
    def _places(self) -> Places:
        return locate_all(self.crops, self._plates)

    @cached_property
    def _donors(self) -> Donors:
        return group_donors(self.crops, self._plates)


def see_again(rng: np.random.Generator, crop: RealCrop, small_share: float = 0.0) -> Sample:
    """Cut a real plate out of its photo, changed as if taken from another place."""
    photo = photograph_again(rng, crop, small_share)
    return cut_sample(rng, photo, is_known=crop.corners is not None)


def _see_hardly(rng: np.random.Generator, crop: RealCrop, trouble: str) -> Photo:
    """Change a real plate's photo: another viewpoint, and one trouble."""
    photo = Photo(*_turn(rng, crop.picture, crop.quad), crop.text, "", crop.lines)
    picture, quad = add_trouble(rng, photo.picture, photo.quad, trouble, crop.lines)
    return replace(photo, picture=picture, quad=quad)


def photograph_again(rng: np.random.Generator, crop: RealCrop, small_share: float = 0.0) -> Photo:
    """Change a real plate's photo: other viewpoint, greater distance, other light.

    The photo is turned before it is shrunk: small pictures that are turned get blurred.
    """
    picture, quad = _turn(rng, crop.picture, crop.quad)
    width = crop.picture.shape[1]
    is_small = small_share > 0 and rng.random() < small_share
    if (is_small or rng.random() < 0.6) and width > MIN_PX:
        most = min(SMALL_PX, width) if is_small else width
        factor = float(np.exp(rng.uniform(np.log(MIN_PX), np.log(most)))) / width
        picture, quad = shrink(picture, factor), quad * factor
    if rng.random() < 0.45:
        picture = photograph(rng, picture)
    elif rng.random() < 0.4:
        picture = compress(picture, int(rng.integers(15, 96)))
    return Photo(picture, quad, crop.text, "", crop.lines)


def _turn(rng: np.random.Generator, picture: Bgr, quad: Quad) -> tuple[Bgr, Quad]:
    """Turn and shear a crop inside a wider border; one crop in three is changed strongly.

    The border repeats the outermost pixels, so that boxes may be wider than the crop. Some strongly
    changed crops get a bumper as border instead.

    Returns:
        The picture, and the corners in it.
    """
    far = rng.random() < 1 / 3
    angle = float(rng.normal(0, 2.5))
    shear, rise, squeeze = float(rng.normal(0, 0.12)), 0.0, 1.0
    if far:
        angle, squeeze = float(rng.uniform(-24, 24)) * (rng.random() < 0.5), rng.uniform(0.6, 1)
        rise = float(np.tan(np.deg2rad(rng.uniform(-24, 24)))) if angle == 0 else 0.0
    radians = np.deg2rad(angle)
    cosine, sine = np.cos(radians), np.sin(radians)
    matrix = np.array([[cosine, -sine], [sine, cosine]]) @ [[squeeze, shear], [rise * squeeze, 1]]
    height, width = picture.shape[:2]
    room = np.array([0.2 * width, 0.5 * height])
    sides = np.array([[0, 0], [width, 0], [width, height], [0, height]]) @ matrix.T
    move = room - sides.min(axis=0)
    size_wh = np.ceil(np.ptp(sides, axis=0) + 2 * room).astype(int).tolist()
    affine = np.column_stack([matrix, move])
    turned = cv2.warpAffine(picture, affine, size_wh, borderMode=cv2.BORDER_REPLICATE)
    if far and rng.random() < 0.6:
        inside = cv2.warpAffine(np.ones((height, width), np.uint8), affine, size_wh)
        turned = np.where(inside[:, :, None] > 0, turned, bumper(rng, (size_wh[1], size_wh[0])))
    return turned.astype(np.uint8), quad @ matrix.T + move
