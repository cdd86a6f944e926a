"""Rendered plates for the reader: every format of a country as a detector would cut it out.

A crop goes the way of a real one: a plate on a car, seen by a camera, found by a detector whose
box is never exact, cut out by the very `crop_plates` that serves requests.

Example:
    python -m rendering.synth --sheet out.png --seed 0 --formats my_country/formats.toml
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from orchestrator.frames import (
    LOOK_MARGIN_XY,
    cut_frame,
    frames_round,
    grow_frames,
    sizes_of,
    tilts_of,
)
from orchestrator.images import MARGIN_XY, crop_boxes, crop_plates
from orchestrator.picture_files import Bgr
from rendering.camera import (
    CAR_PLATE,
    Quad,
    cloud,
    photograph,
    random_colour,
    random_view,
    shrink,
    soil,
    warp,
)
from rendering.commands import Command, at_least, check_sheet
from rendering.country import Country, FlatPlate, country_of, russia
from rendering.glyphs import glyph_mask
from rendering.painting import GlyphSource
from rendering.russia import load_font
from rendering.video import as_frame
from reporting.sheets import add_caption, arrange, write_png

Crop = NDArray[np.uint8]
"""(24, 94, 3) uint8 BGR, margins included."""
Corners = NDArray[np.float32]
"""(4, 2) float32 x y, clockwise from top-left; -1 and 1 at the crop's edges, NaN when unknown."""
Frame = Tensor
"""float32 [2, 3], see `orchestrator.frames`."""
FILMED = 0.06
"""Of the plates: frames of a video; each takes as long as two others."""
ASLANT_DEG = 8.0
"""Plates that are turned more are looked at twice by the service."""
FONT_SHARE = 0.35
"""Of the plates, drawn with the font's characters when a font is given."""
WIDTHS_PX = (28.0, 300.0)
"""Of photographed plates of 520 x 112 mm, from far to near."""
LINE_PX = 112
"""Of a flat plate's picture: what a line is shrunk to before it is photographed, to save time."""


class Sample(NamedTuple):
    """One crop, what it says and where the plate's corners are in it."""

    crop: Crop
    text: str
    corners: Corners


class Batch(NamedTuple):
    """Crops, (N, 24, 94, 3) uint8 BGR, with their N texts and corners, (N, 4, 2) float32."""

    crops: NDArray[np.uint8]
    texts: list[str]
    corners: NDArray[np.float32]

    @classmethod
    def of(cls, parts: Sequence[Sample]) -> Batch:
        crops, texts, corners = zip(*parts, strict=True)
        return cls(np.stack(crops), list(texts), np.stack(corners))

    @property
    def readable(self) -> Batch:
        """Those with a text: without the flat crops of plates of two lines."""
        kept = [index for index, text in enumerate(self.texts) if text]
        return Batch(self.crops[kept], [self.texts[index] for index in kept], self.corners[kept])


@dataclass(frozen=True)
class Photo:
    """A plate and what is round it.

    Attributes:
        picture: (H, W, 3) uint8 BGR.
        quad: Corners of the plate, clockwise from top-left, pixels.
        text: What the plate says.
        format: Name of its plate format.
        lines: Of the text, 1 or 2.
    """

    picture: Bgr
    quad: Quad
    text: str
    format: str
    lines: int = 1


def photograph_plate(
    rng: np.random.Generator,
    format_name: str | None = None,
    font: GlyphSource | None = None,
    *,
    country: Country | None = None,
) -> Photo:
    """Photograph one random plate on a bumper.

    Args:
        rng: Everything random comes from it.
        format_name: Of the plate; by the formats' shares when None.
        font: Source of the characters of some of the plates.
        country: Of the plate; Russia when None.
    """
    glyphs = font if font is not None and rng.random() < FONT_SHARE else glyph_mask
    plate = (country or russia()).random_plate(rng, format_name, glyphs=glyphs)
    picture, quad = _photograph(rng, plate)
    return Photo(picture, quad, plate.text, plate.format, plate.lines)


def _photograph(rng: np.random.Generator, flat: FlatPlate) -> tuple[Bgr, Quad]:
    """Photograph a plate; returns the picture and the plate's corners in it."""
    factor = LINE_PX * flat.lines / flat.picture.shape[0]
    plate = shrink(flat.picture, factor) if factor < 1 else flat.picture
    if rng.random() < 0.6:
        plate = soil(rng, plate)
    # A line of text is as high in pixels as one of a car's plate that fills WIDTHS_PX.
    share = flat.proportion * flat.lines / CAR_PLATE
    view = random_view(rng, (WIDTHS_PX[0] * share, WIDTHS_PX[1] * share))
    quad = view.quad(flat.proportion)
    span = quad.max(axis=0) - quad.min(axis=0)
    margin = max(0.12 * span[0] + 0.45 * span[1], 0.8 * span[1]) + 2
    quad = quad - quad.min(axis=0) + margin
    size_wh = np.ceil(span + 2 * margin).astype(int)
    behind = bumper(rng, (int(size_wh[1]), int(size_wh[0])))
    _holder(rng, behind, quad)
    seen = photograph(rng, warp(plate, behind, quad))
    return as_frame(rng, seen) if rng.random() < FILMED else seen, quad


def bumper(rng: np.random.Generator, size_hw: tuple[int, int]) -> Bgr:
    """What is behind the plate: paint with edges of panels and soft reflections."""
    behind = np.full((*size_hw, 3), random_colour(rng), np.float32)
    behind += (cloud(rng, size_hw, 4)[:, :, None] - 0.5) * rng.uniform(0, 120)
    for _ in range(rng.integers(0, 4)):
        row = int(rng.integers(0, size_hw[0]))
        tilt = int(rng.normal(0, 0.05 * size_hw[1]))
        width = int(rng.integers(1, 2 + size_hw[0] // 4))
        cv2.line(behind, (0, row), (size_hw[1], row + tilt), random_colour(rng), width)
    return behind.clip(0, 255).astype(np.uint8)


def _holder(rng: np.random.Generator, behind: Bgr, quad: Quad) -> None:
    """Paint the frame that holds the plate: none, plain, or with a dealer's name below."""
    if rng.random() < 0.35:
        return
    centre, height = quad.mean(axis=0), np.linalg.norm(quad[3] - quad[0])
    rim = rng.uniform(0.03, 0.1) * height
    outwards = np.sign(quad - centre) * rim
    colour = random_colour(rng) if rng.random() < 0.3 else (int(rng.integers(10, 60)),) * 3
    frame = quad + outwards
    if rng.random() < 0.55:  # deeper below, for the name
        frame[2:] += (quad[2:] - quad[1::-1]) * rng.uniform(0.06, 0.2)
    cv2.fillConvexPoly(behind, np.round(frame * 16).astype(np.int32), colour, cv2.LINE_AA, 4)
    if height < 12:
        return
    ink = random_colour(rng)
    for x in np.arange(0.15, 0.8, rng.uniform(0.02, 0.05)):
        if rng.random() < 0.7:
            foot = np.round(quad[3] + (quad[2] - quad[3]) * x + (quad[3] - quad[0]) * 0.09)
            cv2.circle(behind, foot.astype(int).tolist(), max(1, int(height / 30)), ink, -1)


def jitter_box(rng: np.random.Generator, quad: Quad) -> NDArray[np.float64]:
    """Box round the corners, off by what detectors are off: (4,) x0 y0 x1 y1.

    Most boxes hold the plate's holder too, or more: of a real detector's crops, margins included,
    the plate often fills no more than three quarters of the width and half of the height.
    """
    low, high = quad.min(axis=0), quad.max(axis=0)
    size = high - low
    noise = rng.normal(0, [0.02, 0.06], (2, 2))
    if rng.random() < 0.65:
        noise += np.array([[-1], [1]]) * rng.uniform(0, [0.12, 0.35], (2, 2)) * rng.random()
    box: NDArray[np.float64] = np.stack([low, high]) + noise * size
    return box.reshape(4)


def jitter_frame(rng: np.random.Generator, quad: Quad) -> Frame:
    """Frame round the corners as STN finds it, off by what it is off, with the room of a look.

    Args:
        rng: Everything random comes from it.
        quad: Corners, clockwise from top-left, pixels.
    """
    frame = frames_round(torch.from_numpy(quad)[None])
    width, height = sizes_of(frame)[0].tolist()
    angle, sheared = np.deg2rad(rng.normal(0, [2.5, 3.0]))
    across, along = 1 + rng.normal(0, [0.03, 0.06])
    right, down = rng.normal(0, [0.02, 0.04])
    off = np.array([
        [across * np.cos(angle), np.sin(sheared - angle) * height / width, right],
        [np.sin(angle) * width / height, along * np.cos(angle), down],
        [0, 0, 1],
    ])  # fmt: skip
    return grow_frames(frame @ torch.from_numpy(off), LOOK_MARGIN_XY)[0].float()


def cut_sample(
    rng: np.random.Generator, photo: Photo, again: float = 0.35, *, is_known: bool = True
) -> Sample:
    """Cut a plate out of a photo as the service does, at its first look or at its second one.

    At the first look a plate of two lines is not to be read, but to be found.

    Args:
        rng: Everything random comes from it.
        photo: With one plate.
        again: Chance of the second look; plates of two lines and such as lie aslant have more.
        is_known: The corners are the plate's own, no rough guess.
    """
    picture, quad = photo.picture, photo.quad
    frame = frames_round(torch.from_numpy(quad)[None])
    if photo.lines == 2 or float(tilts_of(frame)[0]) > ASLANT_DEG:
        again = 0.7
    corners = np.full((4, 2), np.nan, np.float32)
    if rng.random() >= again:
        box = jitter_box(rng, quad)
        if is_known:
            corners = corners_in_crop(picture, box, quad)
        return Sample(cut(picture, box), photo.text if photo.lines == 1 else "", corners)
    looked = jitter_frame(rng, quad)
    crop = _to_bytes(cut_frame(torch.from_numpy(picture), looked, photo.lines)[0])
    if is_known and photo.lines == 1:
        inverse = np.linalg.inv(looked[:, :2].numpy())
        corners = ((quad - looked[:, 2].numpy()) @ inverse.T).astype(np.float32)
    return Sample(crop, photo.text, corners)


def cut(picture: Bgr, xyxy: NDArray[np.float64], lines: int = 1) -> Crop:
    """Cut one box out as the service does, as bytes: (24, 94, 3) uint8 BGR.

    Args:
        picture: (H, W, 3) uint8 BGR.
        xyxy: (4,) box, pixels.
        lines: Of the plate; of two the upper comes to lie left of the lower.
    """
    box = torch.from_numpy(xyxy.astype(np.float32))[None]
    return _to_bytes(crop_plates(torch.from_numpy(picture), box, MARGIN_XY, lines=lines)[0])


def _to_bytes(crop: Tensor) -> Crop:
    """Turn the reader's input [3, 24, 94] into (24, 94, 3) uint8 BGR."""
    pixels = crop.mul(128).add(127.5).round().clamp(0, 255).byte()
    return np.ascontiguousarray(pixels.permute(1, 2, 0).numpy()[:, :, ::-1])


def corners_in_crop(picture: Bgr, xyxy: NDArray[np.float64], quad: Quad) -> Corners:
    """Where a quadrilateral of the picture lies in the crop that `cut` makes of the box."""
    box = torch.from_numpy(xyxy.astype(np.float32))[None]
    x0, y0, x1, y1 = crop_boxes(torch.from_numpy(picture), box, MARGIN_XY)[0]
    corners = 2 * (quad - [x0, y0]) / [x1 - x0, y1 - y0] - 1
    return corners.astype(np.float32)


def render_sample(
    rng: np.random.Generator,
    format_name: str | None = None,
    font: GlyphSource | None = None,
    *,
    country: Country | None = None,
) -> Sample:
    """Render one crop for the reader; arguments as of `photograph_plate`."""
    one = photograph_plate(rng, format_name, font, country=country)
    return cut_sample(rng, one)


def render_samples(
    count: int, seed: int, font: GlyphSource | None = None, *, country: Country | None = None
) -> Batch:
    """Render crops, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    return Batch.of([render_sample(rng, font=font, country=country) for _ in range(count)])


def draw_sheet(batch: Batch, columns: int = 8) -> Bgr:
    """Lay crops out with their texts, twice their size, to look at."""
    tiles = (cv2.resize(crop, None, fx=2, fy=2).astype(np.uint8) for crop in batch.crops)
    pairs = zip(tiles, batch.texts, strict=True)
    return arrange([add_caption(tile, text) for tile, text in pairs], columns)


def _act(given: Namespace) -> None:
    sheet = check_sheet(given.sheet)
    font = load_font(given.font) if given.font else None
    drawn = render_samples(given.count, given.seed, font, country=country_of(given.formats))
    write_png(draw_sheet(drawn), sheet)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a contact sheet."""
    command = Command("synth", "Contact sheet of rendered plates.")
    command.add_argument("--sheet", type=Path, required=True, help="PNG to write")
    command.add_argument("--count", type=at_least(1), default=96)
    command.add_argument("--font", type=Path, help="TrueType font for some Russian plates")
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
