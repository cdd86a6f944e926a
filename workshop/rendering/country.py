"""A country whose plates can be drawn: its formats, and the renderer that its file names.

A renderer is a function that draws one new plate. Its code is in the country's folder and runs when
the country is read. Use only folders that you trust.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np

from orchestrator.detection.postprocessing import WIDEST_SQUARE
from orchestrator.errors import SettingsError
from orchestrator.formats.layouts import lines_of
from orchestrator.formats.plate_formats import RUSSIA, Formats, read_formats
from orchestrator.imaging.files import Bgr
from workshop.rendering.glyphs import glyph_mask
from workshop.rendering.painting import GlyphSource
from workshop.rendering.texts import (
    double_end,
    fill,
    find_format,
    layout_of,
    plain,
    random_text,
)

MIN_PX = 24
"""Smallest height of a line in the picture of a flat plate; the reader's input is as high."""


@dataclass(frozen=True)
class FlatPlate:
    """A new, clean plate seen straight on.

    Attributes:
        picture: (H, W, 3) uint8 BGR; its sides have the plate's real proportion.
        text: Text of the plate, its lines joined in order.
        lines: Number of lines of the text, 1 or 2.
    """

    picture: Bgr
    text: str
    format: str
    lines: int = 1

    @property
    def proportion(self) -> float:
        """Width of the plate divided by its height."""
        return self.picture.shape[1] / self.picture.shape[0]


class Renderer(Protocol):
    """Type of the function that a formats file names as `module:function`."""

    def __call__(
        self, rng: np.random.Generator | None, format_name: str, *, text: str, glyphs: GlyphSource
    ) -> FlatPlate:
        """Draw one plate.

        Args:
            rng: Source of differences between plates: paint, bolts, play. None for no differences.
            format_name: One of the country's formats.
            text: Text of the plate, with a `/` before its second line.
            glyphs: Source of the characters, for renderers that use the project's own.

        Raises:
            ValueError: The renderer draws no such plate.
        """


@dataclass(frozen=True)
class Country:
    """Texts and looks of a country's plates.

    Attributes:
        file: File of the formats; error messages name it.
        doubled_share: Share of the random plates whose text gets two equal characters at one end.
    """

    formats: Formats
    draw: Renderer
    file: Path
    doubled_share: float = 0.0

    @property
    def drawn_formats(self) -> tuple[str, ...]:
        """Names of the formats with a share, in the order of the file."""
        return tuple(
            plate_format.name for plate_format in self.formats.format if plate_format.share
        )

    @property
    def two_lined(self) -> tuple[str, ...]:
        """Names of those of the drawn formats that have two lines."""
        layouts = {name: find_format(self.formats, name).layouts for name in self.drawn_formats}
        return tuple(
            name for name, format_layouts in layouts.items() if lines_of(format_layouts[0]) == 2
        )

    def random_plate(
        self,
        rng: np.random.Generator,
        format_name: str | None = None,
        *,
        glyphs: GlyphSource = glyph_mask,
    ) -> FlatPlate:
        """Draw a plate with a random text; its format is drawn by share, unless one is given.

        Raises:
            SettingsError: The renderer does not draw this plate.
        """
        text, name = random_text(rng, self.formats, format_name)
        if self.doubled_share and rng.random() < self.doubled_share:
            text = double_end(rng, text, self.formats, name)
        return self._draw(rng, name, text, glyphs)

    def plate_of(
        self,
        text: str,
        *,
        format_name: str | None = None,
        rng: np.random.Generator | None = None,
        glyphs: GlyphSource = glyph_mask,
    ) -> FlatPlate:
        """Draw a plate with a given text.

        Args:
            text: Text of the plate, with a `/` before its second line, if there is one.
            format_name: Format of the text. When None: the first that fits, those with a share
                before the others.
            rng: Source of differences between plates; None for no differences.
            glyphs: Source of the characters.

        Raises:
            ValueError: The text does not fit the format.
            SettingsError: The renderer does not draw this plate.
        """
        by_use = sorted(self.formats.format, key=lambda plate_format: not plate_format.share)
        names = [format_name] if format_name else [plate_format.name for plate_format in by_use]
        fitting = [name for name in names if self.fits(text, name)]
        if not fitting:
            raise ValueError(f"text: wanted one of the formats {', '.join(names)}, got {text!r}")
        return self._draw(rng, fitting[0], text, glyphs)

    def fits(self, text: str, format_name: str) -> bool:
        """Tell whether a text fits a format; a `/` separates its lines."""
        plate_format = find_format(self.formats, format_name)
        return layout_of(text, plate_format, self.formats) is not None

    def check(self) -> None:
        """Draw every layout of the formats with a share, with and without `rng`, as a check.

        Raises:
            SettingsError: A layout cannot be drawn, or no format has a share.
        """
        if not self.drawn_formats:
            raise SettingsError(
                f"{self.file}: formats: wanted one with a share, got none that is ever drawn"
            )
        rng = np.random.default_rng(0)
        for plate_format in (find_format(self.formats, name) for name in self.drawn_formats):
            for layout in plate_format.layouts:
                text = fill(rng, layout, self.formats)
                for generator in (rng, None):
                    self._draw(generator, plate_format.name, text, glyph_mask)

    def _draw(
        self, rng: np.random.Generator | None, name: str, text: str, glyphs: GlyphSource
    ) -> FlatPlate:
        try:
            plate = _call(self.draw, rng, name, text=text, glyphs=glyphs)
            _check_plate(plate, name, text)
        except SettingsError as error:
            layout = layout_of(text, find_format(self.formats, name), self.formats)
            raise SettingsError(f"{self.file}: layout {layout} of {name}: {error}") from error
        return plate


def country_of(formats_file: Path) -> Country:
    """Read a country's file, find its renderer and check that it draws every layout.

    Raises:
        SettingsError: The file cannot be used, its renderer is missing or cannot be found, or
            the renderer does not draw a layout.
    """
    formats = read_formats(formats_file)
    try:
        renderer = _find_renderer(formats.renderer, formats_file.absolute().parent)
    except SettingsError as error:
        raise SettingsError(f"{formats_file}: {error}") from error
    country = Country(formats, renderer, formats_file)
    country.check()
    return country


@lru_cache(maxsize=1)
def russia() -> Country:
    """Return the country of the project's own weights."""
    return country_of(RUSSIA)


def _find_renderer(renderer: str, folder: Path) -> Renderer:
    """Return the function that `module:function` names; modules of the folder come first."""
    name, _, function = renderer.partition(":")
    if not name or not function:
        raise SettingsError(f"renderer: wanted module:function, got {renderer or 'none'}")
    file = folder / f"{name}.py"
    try:
        module = _run(file) if file.is_file() else importlib.import_module(name)
    except ModuleNotFoundError as error:
        reason = _format_error(error) if error.name != name else f"no such module, and no {file}"
        raise SettingsError(f"renderer: wanted the module {name}, got {reason}") from error
    except (Exception, SystemExit) as error:  # a module may raise anything while it is run
        reason = _format_error(error)
        raise SettingsError(f"renderer: wanted the module {name}, got {reason}") from error
    drawing: Renderer | None = getattr(module, function, None)
    if not callable(drawing):
        raise SettingsError(f"renderer: wanted a function {function} in {name}, got none")
    return drawing


def _run(file: Path) -> ModuleType:
    """Run a module under a unique name, since two countries may both have a `renderer.py`."""
    name = "country_" + hashlib.sha256(str(file).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module here
    spec.loader.exec_module(module)
    return module


def _call(
    draw: Renderer, rng: np.random.Generator | None, name: str, *, text: str, glyphs: GlyphSource
) -> FlatPlate:
    """Call a renderer; all its errors become a SettingsError that says what was wanted."""
    try:
        return draw(rng, name, text=text, glyphs=glyphs)
    except (Exception, SystemExit) as error:  # a user's renderer may raise anything
        reason = _format_error(error, is_sentence=isinstance(error, ValueError))
        plate = f"a plate {text}" if rng else f"a plate {text} without rng"
        raise SettingsError(f"renderer: wanted {plate}, got: {reason}") from error


def _format_error(error: BaseException, *, is_sentence: bool = False) -> str:
    """Return an error's message in one line, with the error's type unless it is a sentence."""
    message = " ".join(str(error).split())
    return message if message and is_sentence else f"{type(error).__name__}: {message}"


def _check_plate(plate: object, name: str, text: str) -> None:
    """Raise unless the renderer returned a plate with this format and text."""
    if not isinstance(plate, FlatPlate):
        raise SettingsError(f"renderer: wanted a FlatPlate, got {type(plate).__name__}")
    lines = lines_of(text)
    expected, got = (plain(text), name, lines), (plate.text, plate.format, plate.lines)
    if got != expected:
        raise SettingsError(f"renderer: wanted text, format and lines {expected}, got {got}")
    _check_picture(plate.picture, lines)


def _check_picture(picture: object, lines: int) -> None:
    """Raise unless the renderer returned a picture of a plate with this many lines."""
    requirement = f"renderer: wanted a picture uint8 (H, W, 3), H at least {MIN_PX * lines}"
    if not isinstance(picture, np.ndarray):
        raise SettingsError(f"{requirement}, got {type(picture).__name__}")
    height, width, channels = picture.shape if picture.ndim == 3 else (0, 0, 0)
    if picture.dtype != np.uint8 or channels != 3 or height < MIN_PX * lines:
        raise SettingsError(f"{requirement}, got {picture.dtype} {picture.shape}")
    if lines == 2 and width >= WIDEST_SQUARE * height:
        raise SettingsError(
            f"renderer: wanted a plate of two lines to be less than {WIDEST_SQUARE:g} times as "
            f"wide as high, got {width} x {height}"
        )
