"""Regions of real crops: none of them too often, and other region codes painted into crops.

More than half of the real crops may be of one city. A reader that sees its code in half of a batch
reads it on other plates, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.formats.plate_formats import Formats
from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import Quad, shrink
from workshop.rendering.country import Country
from workshop.rendering.russia import BORDER_MM
from workshop.rendering.russia_parts import LONG_MM
from workshop.training.reader.crops import RealCrop

T = TypeVar("T")
Donors = Mapping[str, Sequence[RealCrop]]
"""Crops of cars' plates with known corners, by their region codes."""
CAR = "ru_car"
"""Format of the plates whose region codes are replaced."""
RENDERED_CODES = 0.4
"""Share of the new region codes that are drawn by the renderer; the others are from real crops."""
INSET_MM = 4.0
"""Distance of the replaced field from the plate's edge."""
PAPER_AND_INK = (88, 6)
"""Percentiles of a field's grey levels that are its paper and its ink."""
MIN_SPAN, CONTRASTS = 8.0, (0.3, 2.5)
"""Least difference of paper and ink that is believed; least and greatest change of contrast."""
PlatePicture = tuple[Bgr, Quad]
"""A picture, and the corners of the plate in it."""
FieldMm = tuple[float, float]
"""Left and right edge of a field of a long plate."""


def capped_shares(
    groups: Sequence[str], most: float, items: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the rate at which to draw each item, so that no group exceeds a share of the draws.

    Groups below the limit keep their proportions. With too few groups, all have equal shares.

    Args:
        groups: The group of each item.
        most: Greatest share of a group, from 0 to 1.
        items: Shares of the items before; equal ones when None. Items of a group keep their
            proportions.

    Returns:
        Shares of the items; their sum is 1.
    """
    items = np.full(len(groups), 1 / len(groups)) if items is None else items
    sizes: dict[str, float] = {}
    for group, share in zip(groups, items.tolist(), strict=True):
        sizes[group] = sizes.get(group, 0.0) + share
    if len(sizes) * most <= 1:
        shares = dict.fromkeys(sizes, 1 / len(sizes))
    else:
        shares = dict(sizes)
        while max(shares.values()) > most + 1e-9:
            full = {group for group, share in shares.items() if share >= most}
            rest = sum(share for group, share in shares.items() if group not in full)
            factor = (1 - most * len(full)) / rest
            shares = {
                group: most if group in full else share * factor for group, share in shares.items()
            }
    rates: NDArray[np.float64] = items * [shares[group] / sizes[group] for group in groups]
    return rates


def group_by_region(crops: Sequence[RealCrop], formats: Formats) -> list[str]:
    """Return the region code of each crop, `""` for those without one."""
    return [formats.code_of(crop.text) for crop in crops]


def group_by_letter(crops: Sequence[RealCrop]) -> list[str]:
    """Return the first letter of each crop's text, `""` for those that begin with a digit."""
    return [crop.text[0] if crop.text[:1].isalpha() else "" for crop in crops]


def can_replace(crop: RealCrop, formats: Formats) -> bool:
    """Tell whether the place of a crop's region code is known: a car's plate with its corners."""
    return crop.lines == 1 and crop.corners is not None and formats.format_of(crop.text) == CAR


def group_donors(crops: Sequence[RealCrop], formats: Formats) -> Donors:
    """Return the crops from which region codes can be taken, by their codes."""
    donors: dict[str, list[RealCrop]] = {}
    for crop in crops:
        if can_replace(crop, formats):
            donors.setdefault(formats.code_of(crop.text), []).append(crop)
    return donors


def replace_code(
    rng: np.random.Generator, crop: RealCrop, donors: Donors, country: Country
) -> RealCrop:
    """Replace the region code of a crop, by that of another crop or by a rendered one.

    The new code has as many digits. It gets the colours and the contrast of the field that it
    covers.

    Args:
        rng: Source of all randomness.
        crop: Crop of a car's plate, its corners known.
        donors: Crops from which codes are taken.
        country: Country that draws the other codes.
    """
    old = country.formats.code_of(crop.text)
    number, digits = crop.text[: -len(old)], len(old)
    of_crops = [code for code in sorted(donors) if len(code) == digits and code != old]
    if of_crops and rng.random() >= RENDERED_CODES:
        code = _choose(rng, of_crops)
        donor = _choose(rng, donors[code])
        picture, quad = donor.picture, donor.quad
    else:
        codes = [region_code for region in country.formats.region for region_code in region.codes]
        code = _choose(rng, [region_code for region_code in codes if len(region_code) == digits])
        picture = country.plate_of(number + code, format_name=CAR, rng=rng).picture
        quad = _rectangle(0, 0, picture.shape[1], picture.shape[0])
        picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.5, 4)).astype(np.uint8)
    field_mm = (BORDER_MM[digits] + INSET_MM, LONG_MM[0] - INSET_MM)
    picture_with_code = paint_field((crop.picture, crop.quad), field_mm, (picture, quad), field_mm)
    return replace(crop, picture=picture_with_code, text=number + code)


def _choose(rng: np.random.Generator, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]


def _rectangle(left: float, top: float, right: float, bottom: float) -> Quad:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float64)


def paint_field(
    onto: PlatePicture, field_mm: FieldMm, donor: PlatePicture, donor_mm: FieldMm
) -> Bgr:
    """Paint a field of one long plate over that of another, in its colours and its contrast.

    Args:
        onto: Picture of the plate to change, and the plate's corners.
        field_mm: Left and right edge of the field that is covered.
        donor: Picture of the other plate, and its corners.
        donor_mm: Left and right edge of the field that is taken.

    Returns:
        The changed picture, a copy.
    """
    (target, onto_quad), (source, donor_quad) = onto, donor
    factor = float(np.ptp(onto_quad[:, 0]) / max(np.ptp(donor_quad[:, 0]), 1.0))
    if factor < 0.8:
        source, donor_quad = shrink(source, factor), donor_quad * factor
    corners = _project(_field(*field_mm), onto_quad)
    low = np.floor(corners.min(axis=0)).astype(int).clip(0)
    high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 1, target.shape[1::-1])
    if (high - low < 2).any():
        return target
    corners = (corners - low).astype(np.float32)
    result = target.copy()
    part = result[low[1] : high[1], low[0] : high[0]]
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillConvexPoly(mask, np.round(corners * 16).astype(np.int32), (255,), cv2.LINE_AA, 4)
    matrix = cv2.getPerspectiveTransform(_project(_field(*donor_mm), donor_quad), corners)
    size_wh = (part.shape[1], part.shape[0])
    moved = cv2.warpPerspective(source, matrix, size_wh, borderMode=cv2.BORDER_REPLICATE)
    matched_part = _match(moved.astype(np.uint8), part, mask > 127)
    alpha = mask[:, :, None].astype(np.float32) / 255
    part[:] = (part * (1 - alpha) + matched_part * alpha).round().clip(0, 255).astype(np.uint8)
    return result


def _match(picture: Bgr, onto: Bgr, inside: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Give a picture the paper's colour and the contrast of another one, (H, W, 3) float32."""
    if not inside.any():
        return picture.astype(np.float32)
    old, new = (np.percentile(pixels[inside], PAPER_AND_INK, axis=0) for pixels in (onto, picture))
    spans = [max(MIN_SPAN, float((pixels[0] - pixels[1]).mean())) for pixels in (old, new)]
    contrast = np.clip(spans[0] / spans[1], *CONTRASTS)  # one for all colours: no coloured rims
    result: NDArray[np.float32] = ((picture - new[0]) * contrast + old[0]).astype(np.float32)
    return result


def _field(left_mm: float, right_mm: float) -> Quad:
    return _rectangle(left_mm, INSET_MM, right_mm, LONG_MM[1] - INSET_MM)


def _project(field: Quad, quad: Quad) -> NDArray[np.float32]:
    """Return the corners of a field, mm, in a picture of the plate with these corners."""
    plate = _rectangle(0, 0, *LONG_MM).astype(np.float32)
    to_picture = cv2.getPerspectiveTransform(plate, quad.astype(np.float32))
    corners: NDArray[np.float32] = cv2.perspectiveTransform(
        field[None].astype(np.float32), to_picture
    )[0]
    return corners
