"""Contact sheets: what went wrong, cut out of the pictures, for a person to look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from evaluation.datasets import Box
from evaluation.outcomes import open_picture
from evaluation.reading import Pair

Bgr = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]

LABEL, FOUND = (0, 220, 255), (60, 200, 40)  # BGR: yellow what was labelled, green what was found
PAPER, INK, WRONG, GREY = (255, 255, 255), (30, 30, 30), (40, 40, 220), (150, 150, 150)

CONTEXT_WH, DETAIL_WH, TEXT_WH = (400, 230), (400, 110), (400, 30)
READING_WH = (400, 62)
CONTEXT_SPAN = 3.0
"""The context is as wide as so many of what it shows."""
COLUMNS, TILES = 4, 24  # of a sheet
GAP_PX = 8
FONT = cv2.FONT_HERSHEY_SIMPLEX


@dataclass(frozen=True)
class Outline:
    """A polygon in picture pixels and its colour."""

    corners: tuple[tuple[float, float], ...]
    colour: Colour

    @staticmethod
    def of_box(box: Box, colour: Colour) -> Outline:
        """Return the outline of an xyxy box."""
        x0, y0, x1, y1 = box
        return Outline(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), colour)


@dataclass(frozen=True)
class Tile:
    """One thing that went wrong.

    Attributes:
        path: The picture file.
        focus: What the context is cut around, xyxy pixels.
        detail: What is shown enlarged, xyxy pixels.
        outlines: Drawn into the context.
        caption: One line.
        characters: Wanted and read characters in pairs; none where nothing was to be read.
    """

    path: Path
    focus: Box
    detail: Box
    outlines: tuple[Outline, ...]
    caption: str
    characters: tuple[Pair, ...] = ()


def write_sheets(tiles: Iterable[Tile], folder: Path, stem: str) -> list[Path]:
    """Write `STEM_1.png`, `STEM_2.png`, ...; sheets of an earlier run are removed.

    Returns:
        The files written, none without tiles.
    """
    for old in folder.glob(f"{stem}_[0-9]*.png"):
        old.unlink()
    drawn = [draw(tile) for tile in tiles]
    pages = [drawn[first : first + TILES] for first in range(0, len(drawn), TILES)]
    paths = [folder / f"{stem}_{number}.png" for number in range(1, len(pages) + 1)]
    for path, page in zip(paths, pages, strict=True):
        _, encoded = cv2.imencode(".png", arrange(page))
        path.write_bytes(encoded.tobytes())
    return paths


def arrange(tiles: list[Bgr]) -> Bgr:
    """Lay tiles of one size out in rows, left to right."""
    height, width = tiles[0].shape[:2]
    columns = min(COLUMNS, len(tiles))
    rows = -(-len(tiles) // columns)
    size_hw = (rows * (height + GAP_PX) + GAP_PX, columns * (width + GAP_PX) + GAP_PX)
    sheet = np.full((*size_hw, 3), GREY, np.uint8)
    for index, tile in enumerate(tiles):
        row, column = divmod(index, columns)
        y, x = GAP_PX + row * (height + GAP_PX), GAP_PX + column * (width + GAP_PX)
        sheet[y : y + height, x : x + width] = tile
    return sheet


def draw(tile: Tile) -> Bgr:
    """Draw a caption, the place in its context, the plate enlarged, and the characters."""
    picture: Bgr = open_picture(tile.path).numpy()
    parts = [
        _line(tile.caption),
        _context(picture, tile),
        _cut(picture, tile.detail, DETAIL_WH, 1.15)[0],
    ]
    if tile.characters:
        parts.append(_reading(tile.characters))
    return np.vstack(parts)


def _cut(
    picture: Bgr, box: Box, size_wh: tuple[int, int], span: float
) -> tuple[Bgr, npt.NDArray[np.float64]]:
    """Cut out a box and what is round it; grey beyond the picture's edge.

    Returns:
        The view, of the size given, `span` boxes wide or high; and the affine [2, 3] to it.
    """
    x0, y0, x1, y1 = box
    scale = min(size_wh[0] / (x1 - x0), size_wh[1] / (y1 - y0)) / span
    offset_x, offset_y = (size_wh[0] - scale * (x0 + x1)) / 2, (size_wh[1] - scale * (y0 + y1)) / 2
    affine = np.array([[scale, 0, offset_x], [0, scale, offset_y]])
    flags = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_LINEAR
    return np.asarray(
        cv2.warpAffine(picture, affine, size_wh, flags=flags, borderValue=GREY), np.uint8
    ), affine


def _context(picture: Bgr, tile: Tile) -> Bgr:
    view, affine = _cut(picture, tile.focus, CONTEXT_WH, CONTEXT_SPAN)
    for outline in tile.outlines:
        corners = np.asarray(outline.corners) @ affine[:, :2].T + affine[:, 2]
        points = corners.round().astype(np.int32)
        cv2.polylines(view, [points], True, outline.colour, 1, cv2.LINE_AA)
    return view


def _blank(size_wh: tuple[int, int]) -> Bgr:
    return np.full((size_wh[1], size_wh[0], 3), PAPER, np.uint8)


def _line(text: str) -> Bgr:
    """Write one line, smaller where it would not fit."""
    line = _blank(TEXT_WH)
    (width, _), _ = cv2.getTextSize(text, FONT, 0.5, 1)
    scale = min(0.5, 0.5 * (TEXT_WH[0] - 16) / max(width, 1))
    cv2.putText(line, text, (8, 20), FONT, scale, INK, 1, cv2.LINE_AA)
    return line


def _reading(characters: tuple[Pair, ...]) -> Bgr:
    """Write what was wanted over what was read, character over character, differences in red."""
    lines = _blank(READING_WH)
    for text, y in (("wanted", 24), ("read", 52)):
        cv2.putText(lines, text, (8, y), FONT, 0.45, INK, 1, cv2.LINE_AA)
    for index, (wanted, read) in enumerate(characters):
        x = 90 + 28 * index
        colour = INK if wanted == read else WRONG
        cv2.putText(lines, wanted or "-", (x, 25), FONT, 0.8, INK, 2, cv2.LINE_AA)
        cv2.putText(lines, read or "-", (x, 54), FONT, 0.8, colour, 2, cv2.LINE_AA)
    return lines
