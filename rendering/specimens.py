"""Specimens of a country: clean plates of every layout, to look at while writing a renderer.

Example:
    python -m rendering.specimens --formats my_country/formats.toml --sheet specimens.png
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from orchestrator.formats import RUSSIA
from orchestrator.picture_files import Bgr
from rendering.country import Country, FlatPlate, read_option
from rendering.texts import fill
from reporting.sheets import GREY, add_caption, arrange, write_png

TILE_WH = (300, 170)
ROOM_PX = 10


def draw_specimens(country: Country, each: int, seed: int) -> Iterator[FlatPlate]:
    """Draw so many plates of each layout, the first one plain, the others as they come."""
    rng = np.random.default_rng(seed)
    for one in country.formats.format:
        for layout in one.layouts:
            for index in range(each):
                text = fill(rng, layout, country.formats)
                yield country.plate_of(text, format_name=one.name, rng=rng if index else None)


def draw_sheet(plates: Sequence[FlatPlate], columns: int) -> Bgr:
    """Lay plates out with their formats and texts."""
    return arrange(
        [add_caption(_tile(one.picture), f"{one.format} {one.text}") for one in plates], columns
    )


def _tile(picture: Bgr) -> Bgr:
    """Fit a plate into a grey tile."""
    height, width = picture.shape[:2]
    scale = min((TILE_WH[0] - ROOM_PX) / width, (TILE_WH[1] - ROOM_PX) / height)
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    tile: Bgr = np.full((TILE_WH[1], TILE_WH[0], 3), GREY, np.uint8)
    top, left = (TILE_WH[1] - small.shape[0]) // 2, (TILE_WH[0] - small.shape[1]) // 2
    tile[top : top + small.shape[0], left : left + small.shape[1]] = small
    return tile


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a sheet."""
    parser = argparse.ArgumentParser(description="Contact sheet of a country's clean plates.")
    parser.add_argument(
        "--formats", dest="country", metavar="FILE", type=read_option, default=str(RUSSIA)
    )
    parser.add_argument("--sheet", type=Path, required=True, help="PNG to write")
    parser.add_argument("--each", type=int, default=2, help="plates of each layout")
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    plates = [*draw_specimens(given.country, given.each, given.seed)]
    write_png(draw_sheet(plates, given.columns), given.sheet)


if __name__ == "__main__":
    main()
