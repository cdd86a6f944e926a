"""Measures how well plates of each format are read, rendered unlike those of the training.

`python -m workshop.evaluation.kinds` is the command; docs/evaluation.md describes it. A plate has
characters of another shape, and a box with a detector's usual error, so only reading is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from orchestrator.cli.flags import (
    EngineOption,
    FormatsOption,
    ThreadsOption,
    WeightsOption,
    show_errors,
)
from orchestrator.imaging.files import Bgr
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS, choose_formats
from orchestrator.plates import Plate
from orchestrator.reading.passes import read_plates
from orchestrator.reading.reader import Reader
from orchestrator.reading.readings import with_text
from orchestrator.settings import Settings
from workshop.evaluation.proportions import wilson_interval
from workshop.evaluation.recognizers import load_here
from workshop.evaluation.tiles import FOUND, Outline, Tile, draw_view
from workshop.rendering.camera import moderate_view
from workshop.rendering.country import Country, country_of
from workshop.rendering.glyph_jitter import jitter_glyphs
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.inexact_frames import jitter_box
from workshop.rendering.painting import GlyphSource
from workshop.rendering.photos import Photo, photograph_flat
from workshop.rendering.russia import load_font
from workshop.reporting.files import explain_write_errors, prepare_folder
from workshop.reporting.sheets import write_sheets
from workshop.reporting.tables import format_percent, format_table

WIDTHS_PX = (60.0, 300.0)
"""Least and greatest width of a plate of 520 x 112 mm."""
SEED = 30_000
"""Seed of the plates; no training uses it."""


@dataclass(frozen=True)
class Seen:
    """A photographed plate and the box that a detector finds, xyxy pixels."""

    photo: Photo
    xyxy: NDArray[np.float64]


@dataclass(frozen=True)
class ReadPlate:
    """A plate and what was read.

    Attributes:
        seen: The plate.
        read: The answer.
    """

    seen: Seen
    read: Plate

    @property
    def best(self) -> str:
        """The best reading, shown or not; `""` without one."""
        return self.read.candidates[0][0] if self.read.candidates else ""

    @property
    def is_right(self) -> bool:
        """Tell whether the best reading, shown or not, is the plate's text."""
        return self.best == self.seen.photo.text

    @property
    def is_shown_right(self) -> bool:
        return self.read.text == self.seen.photo.text


def draw_kinds(
    country: Country, each: int, seed: int, font: GlyphSource = glyph_mask
) -> Iterator[Seen]:
    """Photograph `each` plates of every format that is drawn; the same seed gives the same plates.

    Args:
        country: Country of the plates.
        each: Number of plates of a format.
        seed: Seed of the generators; each plate has its own.
        font: Source of the characters, before they are changed.
    """
    names = [name for name in country.drawn for _ in range(each)]
    generators = np.random.default_rng(seed).spawn(len(names))
    for name, rng in zip(names, generators, strict=True):
        flat = country.random_plate(rng, name, glyphs=jitter_glyphs(rng, font))
        photo = photograph_flat(rng, flat, WIDTHS_PX, moderate_view)
        height, width = photo.picture.shape[:2]
        box = jitter_box(rng, photo.quad, photo.lines).clip(0, [width, height, width, height])
        yield Seen(photo, box)


def read_one(seen: Seen, reader: Reader, text_threshold: float) -> ReadPlate:
    """Read a plate in its box as the service does."""
    box = torch.from_numpy(seen.xyxy.astype(np.float32))[None]
    (reading,) = read_plates(torch.from_numpy(seen.photo.picture), box, reader).readings
    x0, y0, x1, y1 = seen.xyxy.tolist()
    plate = Plate(xyxy=(x0, y0, x1, y1))
    return ReadPlate(seen, with_text(plate, reading, text_threshold, reader.formats))


def describe(plates: Iterable[ReadPlate]) -> str:
    """Return a table: what part of each format's plates is read exactly, and shown."""
    by_format: dict[str, list[ReadPlate]] = {}
    for plate in plates:
        by_format.setdefault(plate.seen.photo.format, []).append(plate)
    header = ("format", "plates", "read", "95 % interval", "shown right", "shown wrong")
    return format_table(header, [_row(name, some) for name, some in by_format.items()])


def _row(name: str, plates: list[ReadPlate]) -> tuple[str | int, ...]:
    count = len(plates)
    right = sum(one.is_right for one in plates)
    shown = sum(one.is_shown_right for one in plates)
    wrong = sum(bool(one.read.text) for one in plates) - shown
    low, high = wilson_interval(right, count) or (0.0, 1.0)
    interval = f"{100 * low:.0f} to {100 * high:.0f} %"
    shares = [format_percent(number / count) for number in (right, shown, wrong)]
    return (name, count, shares[0], interval, *shares[1:])


def draw_miss(plate: ReadPlate) -> Bgr:
    """Draw a tile of a plate that was not read: its box, and the text wanted and read."""
    x0, y0, x1, y1 = plate.read.xyxy
    photo = plate.seen.photo
    tile = Tile(
        path=Path(photo.format),
        focus=(x0, y0, x1, y1),
        detail=(x0, y0, x1, y1),
        outlines=(Outline.of_box((x0, y0, x1, y1), FOUND),),
        caption=f"{photo.format}: {photo.text}, read {plate.best} {plate.read.text_score:.2f}",
    )
    return draw_view(photo.picture, tile)


def kinds(
    each: Annotated[int, typer.Option(min=1, help="Number of plates of each format.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the plates.")] = SEED,
    font: Annotated[
        Path | None, typer.Option(help="TrueType font of Russian plates, instead of our glyphs.")
    ] = None,
    text_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least score of a text that is shown.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for sheets of the plates that are not read.")
    ] = None,
    weights: WeightsOption = None,
    formats: FormatsOption = None,
    engine: EngineOption = Engine.AUTO,
    threads: ThreadsOption = 0,
) -> None:
    """Measure how well rendered plates of each format are read."""
    with show_errors(verbose=False):
        country = country_of(choose_formats(weights or WEIGHTS, formats))
        infer, settings = load_here(weights, engine, threads), Settings()
        threshold = settings.text_threshold if text_threshold is None else text_threshold
        reader = Reader(infer, country.formats, settings.temperature)
        glyphs = load_font(font) if font else glyph_mask
        drawn = draw_kinds(country, each, seed, glyphs)
        count = each * len(country.drawn)
        with typer.progressbar(drawn, length=count, label="reading", file=sys.stderr) as bar:
            plates = [read_one(seen, reader, threshold) for seen in bar]
        typer.echo(describe(plates))
        if out:
            prepare_folder(out)
            with explain_write_errors(out):
                missed = (draw_miss(one) for one in plates if not one.is_right)
                write_sheets(missed, out, "missed_kinds")


app = typer.Typer()
app.command()(kinds)

if __name__ == "__main__":
    app()
