"""Contact sheet of a country's clean plates in every layout, a help for writing a renderer.

Example:
    python -m workshop.rendering.specimens --formats my_country/formats.toml --sheet specimens.png
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.commands import Command, at_least, check_sheet
from workshop.rendering.country import Country, FlatPlate, country_of
from workshop.rendering.texts import fill, find_format
from workshop.reporting.sheets import GREY, add_caption, arrange, write_png

TILE_WH = (300, 170)
ROOM_PX = 10


def draw_specimens(country: Country, each: int, seed: int) -> Iterator[FlatPlate]:
    """Draw `each` plates of each layout that is drawn; the first one has no random differences.

    Raises:
        SettingsError: The renderer does not draw a plate.
    """
    rng = np.random.default_rng(seed)
    for plate_format in (find_format(country.formats, name) for name in country.drawn_formats):
        for layout in plate_format.layouts:
            for index in range(each):
                text = fill(rng, layout, country.formats)
                yield country.plate_of(
                    text, format_name=plate_format.name, rng=rng if index else None
                )


def draw_sheet(plates: Sequence[FlatPlate], columns: int) -> Bgr:
    """Arrange plates on a sheet with their formats and texts."""
    return arrange(
        [add_caption(_tile(plate.picture), f"{plate.format} {plate.text}") for plate in plates],
        columns,
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


def _act(options: Namespace) -> None:
    sheet = check_sheet(options.sheet)
    plates = [*draw_specimens(country_of(options.formats), options.each, options.seed)]
    write_png(draw_sheet(plates, options.columns), sheet)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a sheet."""
    command = Command("rendering.specimens", "Contact sheet of a country's clean plates.")
    command.add_argument("--sheet", type=Path, required=True, help="PNG to write")
    command.add_argument("--each", type=at_least(1), default=2, help="plates of each layout")
    command.add_argument("--columns", type=at_least(1), default=4)
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
