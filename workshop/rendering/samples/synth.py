"""Rendered crops of plates for the reader, in all formats of a country.

Crops are made like real ones. A camera sees a plate on a car, and a detector finds an inexact box.
The same `crop_plates` that serves requests cuts the box out.

Example:
    python -m workshop.rendering.samples.synth --sheet out.png --formats my_country/formats.toml
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from orchestrator.imaging.files import Bgr
from orchestrator.reading.affine_crops import (
    cut_frame,
    cut_upright,
    frames_around,
    tilts_of,
    to_input,
)
from orchestrator.reading.crops import MARGIN_XY, crop_boxes, crop_plates
from orchestrator.reading.deblurring import deconvolve, find_motions
from orchestrator.reading.reader import TILTED_DEG
from workshop.rendering.camera import Quad
from workshop.rendering.commands import Command, at_least, check_sheet
from workshop.rendering.country import Country, country_of
from workshop.rendering.painting import GlyphSource
from workshop.rendering.russia import load_font
from workshop.rendering.samples.inexact_frames import (
    Frame,
    frame_inside_box,
    jitter_box,
    jitter_frame,
)
from workshop.rendering.samples.photos import WIDTHS_PX, Photo, hide_end, photograph_plate
from workshop.reporting.sheets import add_caption, arrange, write_png

Crop = NDArray[np.uint8]
"""(24, 94, 3) uint8 BGR, margins included."""
Corners = NDArray[np.float32]
"""(4, 2) float32 x y, clockwise from top-left; -1 and 1 are the crop's edges, NaN is unknown."""
DEBLURRED = 0.5
"""Share of the second pass's plates whose motion blur is removed, if any is seen."""
INSIDE_BOX = 0.6
"""Share of the second pass's plates of two lines that are cut along their angle in the detector's
box."""
HIDDEN_ENDS = 0.1
"""Share of the plates one end of which is hidden up to the text."""
UNKNOWN_CORNERS = np.full((4, 2), np.nan, np.float32)


class Sample(NamedTuple):
    """One crop with its text and the positions of the plate's corners in it."""

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
        """The samples with a text; crops of plates of two lines have none in the first pass."""
        indices = [index for index, text in enumerate(self.texts) if text]
        return Batch(
            self.crops[indices], [self.texts[index] for index in indices], self.corners[indices]
        )


def cut_sample(
    rng: np.random.Generator, photo: Photo, again: float = 0.35, *, is_known: bool = True
) -> Sample:
    """Cut a plate out of a photo as the service does in its first or its second pass.

    In the first pass, plates of two lines are only located. Their text is empty then.

    Args:
        rng: Source of all randomness.
        photo: Photo with one plate.
        again: Probability of the second pass; higher for plates of two lines and tilted ones.
        is_known: True if the corners are the plate's own, False if they are a rough guess.
    """
    picture, quad = photo.picture, photo.quad
    if is_known and rng.random() < HIDDEN_ENDS:
        picture = hide_end(rng, photo)
    frame = frames_around(quad[None])
    if photo.lines == 2 or float(tilts_of(frame)[0]) > TILTED_DEG:
        again = 0.7
    corners = UNKNOWN_CORNERS
    if rng.random() >= again:
        box = jitter_box(rng, quad, photo.lines)
        if is_known:
            corners = corners_in_crop(picture, box, quad)
        return Sample(cut(picture, box), photo.text if photo.lines == 1 else "", corners)
    is_inside = photo.lines == 2 and rng.random() < INSIDE_BOX
    crop_frame = frame_inside_box(rng, quad) if is_inside else jitter_frame(rng, quad, photo.lines)
    crop = _to_bytes(_cut_again(rng, torch.from_numpy(picture), crop_frame, photo.lines)[0])
    if is_known and photo.lines == 1:
        inverse = np.linalg.inv(crop_frame[:, :2])
        corners = ((quad - crop_frame[:, 2]) @ inverse.T).astype(np.float32)
    return Sample(crop, photo.text, corners)


def _cut_again(rng: np.random.Generator, picture: Tensor, frame: Frame, lines: int) -> Tensor:
    """Cut along a frame; motion blur is often removed, as in the service's third pass."""
    if lines == 1 and rng.random() < DEBLURRED:
        strip = cut_upright(picture, frame)
        if motions := find_motions(strip):
            motion = motions[int(rng.integers(len(motions)))]
            sharp: Tensor = to_input(deconvolve(strip, motion))
            return sharp
    crop: Tensor = cut_frame(picture, frame, lines)
    return crop


def cut(picture: Bgr, xyxy: NDArray[np.float64], lines: int = 1) -> Crop:
    """Cut one box out as the service does, as bytes: (24, 94, 3) uint8 BGR.

    Args:
        picture: (H, W, 3) uint8 BGR.
        xyxy: (4,) box, pixels.
        lines: Number of lines of the plate; the upper of two is placed left of the lower.
    """
    box = xyxy.astype(np.float32)[None]
    return _to_bytes(crop_plates(torch.from_numpy(picture), box, MARGIN_XY, lines=lines)[0])


def _to_bytes(crop: Tensor) -> Crop:
    """Turn the reader's input [3, 24, 94] into (24, 94, 3) uint8 BGR."""
    pixels = crop.mul(128).add(127.5).round().clamp(0, 255).byte()
    return np.ascontiguousarray(pixels.permute(1, 2, 0).numpy()[:, :, ::-1])


def corners_in_crop(picture: Bgr, xyxy: NDArray[np.float64], quad: Quad) -> Corners:
    """Return the corners of a quadrilateral in the crop that `cut` makes of the box."""
    x0, y0, x1, y1 = crop_boxes(picture, xyxy.astype(np.float32)[None], MARGIN_XY)[0]
    corners = 2 * (quad - [x0, y0]) / [x1 - x0, y1 - y0] - 1
    return corners.astype(np.float32)


def render_sample(
    rng: np.random.Generator,
    format_name: str | None = None,
    font: GlyphSource | None = None,
    *,
    country: Country | None = None,
    widths_px: tuple[float, float] = WIDTHS_PX,
    trouble: str | None = None,
) -> Sample:
    """Render one crop for the reader; `photograph_plate` explains the arguments."""
    photo = photograph_plate(
        rng, format_name, font, country=country, widths_px=widths_px, trouble=trouble
    )
    return cut_sample(rng, photo)


def render_samples(
    count: int, seed: int, font: GlyphSource | None = None, *, country: Country | None = None
) -> Batch:
    """Render crops; the same seed gives the same crops."""
    rng = np.random.default_rng(seed)
    return Batch.of([render_sample(rng, font=font, country=country) for _ in range(count)])


def draw_sheet(batch: Batch, columns: int = 8) -> Bgr:
    """Arrange crops on a sheet at twice their size, with their texts."""
    tiles = (cv2.resize(crop, None, fx=2, fy=2).astype(np.uint8) for crop in batch.crops)
    pairs = zip(tiles, batch.texts, strict=True)
    return arrange([add_caption(tile, text) for tile, text in pairs], columns)


def _act(options: Namespace) -> None:
    sheet = check_sheet(options.sheet)
    font = load_font(options.font) if options.font else None
    batch = render_samples(options.count, options.seed, font, country=country_of(options.formats))
    write_png(draw_sheet(batch), sheet)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a contact sheet."""
    command = Command("rendering.samples.synth", "Contact sheet of rendered plates.")
    command.add_argument("--sheet", type=Path, required=True, help="PNG to write")
    command.add_argument("--count", type=at_least(1), default=96)
    command.add_argument("--font", type=Path, help="TrueType font for some Russian plates")
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
