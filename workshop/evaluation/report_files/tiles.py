"""Draws the tiles of a contact sheet: errors, cut out of their pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.evaluation.outcomes import open_picture
from workshop.evaluation.reading import Pair
from workshop.evaluation.yolo_labels import Box
from workshop.reporting.sheets import FONT, INK, PAPER, add_caption, cut_out, draw_outline

Colour = tuple[int, int, int]

LABEL, FOUND = (0, 220, 255), (60, 200, 40)  # BGR: labels are yellow, detections green
WRONG = (40, 40, 220)

CONTEXT_WH, DETAIL_WH, READING_WH = (400, 230), (400, 110), (400, 62)
CONTEXT_SPAN, DETAIL_SPAN = 3.0, 1.15
"""The width of the context and of the detail, as a multiple of the box that they show."""


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
    """A tile: one error in its picture.

    Attributes:
        path: The picture file.
        focus: The box in the centre of the context, xyxy pixels.
        detail: The box that is shown enlarged, xyxy pixels.
        outlines: The outlines that are drawn into the context.
        caption: The caption, one line.
        characters: Pairs of wanted and read characters; empty when there was nothing to read.
    """

    path: Path
    focus: Box
    detail: Box
    outlines: tuple[Outline, ...]
    caption: str
    characters: tuple[Pair, ...] = ()


def draw(tile: Tile) -> Bgr:
    """Draw a tile: its caption, the context, the enlarged plate and the characters."""
    picture = open_picture(tile.path).numpy()
    context, affine = cut_out(picture, tile.focus, CONTEXT_WH, CONTEXT_SPAN)
    for outline in tile.outlines:
        draw_outline(context, affine, outline.corners, outline.colour)
    detail, _ = cut_out(picture, tile.detail, DETAIL_WH, DETAIL_SPAN)
    parts = [context, detail]
    if tile.characters:
        parts.append(_write_characters(tile.characters))
    return add_caption(np.vstack(parts), tile.caption)


def _write_characters(characters: tuple[Pair, ...]) -> Bgr:
    """Write the wanted text above the read text, aligned by character, differences in red."""
    lines = np.full((READING_WH[1], READING_WH[0], 3), PAPER, np.uint8)
    for text, y in (("wanted", 24), ("read", 52)):
        cv2.putText(lines, text, (8, y), FONT, 0.45, INK, 1, cv2.LINE_AA)
    for index, (wanted, read) in enumerate(characters):
        x = 90 + 28 * index
        colour = INK if wanted == read else WRONG
        cv2.putText(lines, wanted or "-", (x, 25), FONT, 0.8, INK, 2, cv2.LINE_AA)
        cv2.putText(lines, read or "-", (x, 54), FONT, 0.8, colour, 2, cv2.LINE_AA)
    return lines
