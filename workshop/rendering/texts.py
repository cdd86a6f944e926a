"""Random texts of number plates, drawn from a country's layouts, alphabet and region codes.

A text is written as the plate shows it, with a `/` before the second line only.
"""

from __future__ import annotations

import numpy as np

from orchestrator.formats.layouts import BREAK
from orchestrator.formats.plate_formats import Formats, PlateFormat


def random_text(
    rng: np.random.Generator, formats: Formats, format_name: str | None = None
) -> tuple[str, str]:
    """Draw a random text of a format; the format is drawn by share, unless it is given.

    Layouts, letters, digits and region codes are drawn with equal probability.

    Returns:
        The text and the name of its format.

    Raises:
        KeyError: There is no format of that name.
    """
    plate_format = find_format(formats, format_name) if format_name else _draw_format(rng, formats)
    layout = plate_format.layouts[int(rng.integers(len(plate_format.layouts)))]
    return fill(rng, layout, formats), plate_format.name


def fill(rng: np.random.Generator, layout: str, formats: Formats) -> str:
    """Draw a text of one layout: `LDDD/RR` may become `K042/77`.

    The region is one of the codes with as many digits as the layout has. If no code fits, or the
    country has no regions, the digits are random.
    """
    digits = layout.count("R")
    codes = [
        code_of_region
        for region in formats.region
        for code_of_region in region.codes
        if len(code_of_region) == digits
    ]
    code = codes[int(rng.integers(len(codes)))] if digits and codes else ""
    region = iter(code)
    chars = []
    for place in layout:
        if place == BREAK:
            chars.append(BREAK)
        elif place == "R" and code:
            chars.append(next(region))
        else:
            pool = [char for char in formats.alphabet if formats.admits(place, char)]
            chars.append(pool[int(rng.integers(len(pool)))])
    return "".join(chars)


def double_end(rng: np.random.Generator, text: str, formats: Formats, format_name: str) -> str:
    """Make the two characters at one end of a text equal: `88V912EK` or `83V912EE` of `83V912EK`.

    Signs of countries are not counted. A text stays as it is if its format does not admit that.
    """
    others = {BREAK, *formats.signs}
    places = [index for index, char in enumerate(text) if char not in others]
    if len(places) < 2:
        return text
    left, right = places[:2] if rng.random() < 0.5 else places[-2:]
    doubled = text[:right] + text[left] + text[right + 1 :]
    fits = layout_of(doubled, find_format(formats, format_name), formats) is not None
    return doubled if fits else text


def find_format(formats: Formats, name: str) -> PlateFormat:
    """Return the format of a name.

    Raises:
        KeyError: There is no format of that name.
    """
    return {plate_format.name: plate_format for plate_format in formats.format}[name]


def layout_of(text: str, plate_format: PlateFormat, formats: Formats) -> str | None:
    """Return the layout of a format that fits a text with `/` between its lines, or None."""
    return next((layout for layout in plate_format.layouts if formats.fits(text, layout)), None)


def kinds_of(text: str) -> str:
    """Return the kinds of a text's characters and keep its breaks: `K042/77` is `LDDD/DD`."""
    return "".join(char if char == BREAK else "D" if char.isdigit() else "L" for char in text)


def plain(text: str) -> str:
    """Return a plate's text with its lines joined: `K04277` for `K042/77`."""
    return text.replace(BREAK, "")


def _draw_format(rng: np.random.Generator, formats: Formats) -> PlateFormat:
    shares = np.array([plate_format.share for plate_format in formats.format])
    return formats.format[int(rng.choice(len(shares), p=shares / shares.sum()))]
