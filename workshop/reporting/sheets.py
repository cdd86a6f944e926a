"""Writes contact sheets: many small pictures on a few large ones, for people to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.imaging.files import Bgr

PAPER, INK, GREY = (255, 255, 255), (30, 30, 30), (150, 150, 150)
GAP_PX = 8
CAPTION_PX = 24
FONT = cv2.FONT_HERSHEY_SIMPLEX
Affine = npt.NDArray[np.float64]


def write_sheets(
    tiles: Iterable[Bgr], folder: Path, stem: str, *, columns: int = 4, rows: int = 6
) -> list[Path]:
    """Write `STEM_1.png`, `STEM_2.png`, ...; sheets of an earlier run are removed.

    Returns:
        The written files; none without tiles.
    """
    for old in folder.glob(f"{stem}_[0-9]*.png"):
        old.unlink()
    paths: list[Path] = []
    remaining = iter(tiles)
    while page := list(islice(remaining, columns * rows)):
        paths.append(folder / f"{stem}_{len(paths) + 1}.png")
        write_png(arrange(page, columns), paths[-1])
    return paths


def write_png(picture: Bgr, path: Path) -> None:
    """Write a PNG file. A failure raises an OSError; OpenCV alone would not report it."""
    _, png = cv2.imencode(".png", picture)
    path.write_bytes(png.tobytes())


def arrange(tiles: Sequence[Bgr], columns: int) -> Bgr:
    """Arrange tiles of one size in rows, from left to right."""
    height, width = tiles[0].shape[:2]
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    size_hw = (rows * (height + GAP_PX) + GAP_PX, columns * (width + GAP_PX) + GAP_PX)
    sheet = np.full((*size_hw, 3), GREY, np.uint8)
    for index, tile in enumerate(tiles):
        row, column = divmod(index, columns)
        y, x = GAP_PX + row * (height + GAP_PX), GAP_PX + column * (width + GAP_PX)
        sheet[y : y + height, x : x + width] = tile
    return sheet


def add_caption(tile: Bgr, text: str) -> Bgr:
    """Write one line of text above a tile, in smaller letters if it would not fit."""
    width = tile.shape[1]
    line = np.full((CAPTION_PX, width, 3), PAPER, np.uint8)
    (text_px, _), _ = cv2.getTextSize(text, FONT, 0.5, 1)
    scale = min(0.5, 0.5 * (width - 16) / max(text_px, 1))
    cv2.putText(line, text, (8, 17), FONT, scale, INK, 1, cv2.LINE_AA)
    return np.vstack([line, tile])


def cut_out(
    picture: Bgr, xyxy: Sequence[float], size_wh: tuple[int, int], span: float
) -> tuple[Bgr, Affine]:
    """Cut out a box and its surroundings; pixels outside the picture are grey.

    Returns:
        The view of the given size, `span` boxes wide or high, and the affine (2, 3) to it.
    """
    x0, y0, x1, y1 = xyxy
    scale = min(size_wh[0] / (x1 - x0), size_wh[1] / (y1 - y0)) / span
    offset_x, offset_y = (size_wh[0] - scale * (x0 + x1)) / 2, (size_wh[1] - scale * (y0 + y1)) / 2
    affine = np.array([[scale, 0, offset_x], [0, scale, offset_y]])
    flags = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_LINEAR
    view = cv2.warpAffine(picture, affine, size_wh, flags=flags, borderValue=GREY)
    return np.asarray(view, np.uint8), affine


def draw_outline(
    view: Bgr, affine: Affine, corners: Sequence[Sequence[float]], colour: tuple[int, int, int]
) -> None:
    """Draw a polygon, given in picture pixels, into a view."""
    points = np.asarray(corners) @ affine[:, :2].T + affine[:, 2]
    cv2.polylines(view, [points.round().astype(np.int32)], True, colour, 1, cv2.LINE_AA)
