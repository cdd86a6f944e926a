"""Random texts of number plates: from a country's layouts, alphabet and region codes.

A text is written as the plate shows it: `/` stands where the second line begins, and nowhere else.
"""

from __future__ import annotations

import numpy as np

from orchestrator.formats import BREAK, Formats, PlateFormat


def random_text(
    rng: np.random.Generator, formats: Formats, format_name: str | None = None
) -> tuple[str, str]:
    """Draw a format by its share, unless given, one of its layouts and a text that it allows.

    Layouts, letters, digits and region codes are drawn evenly.

    Returns:
        The text and the name of its format.

    Raises:
        KeyError: There is no format of that name.
    """
    one = find_format(formats, format_name) if format_name else _draw_format(rng, formats)
    layout = one.layouts[int(rng.integers(len(one.layouts)))]
    return fill(rng, layout, formats), one.name


def fill(rng: np.random.Generator, layout: str, formats: Formats) -> str:
    """Draw a text of one layout: `LDDD/RR` may become `K042/77`.

    The region is drawn among the codes with as many digits as the layout has; a layout that no
    code fits, or a country without regions, gets any digits.
    """
    digits = layout.count("R")
    codes = [c for region in formats.region for c in region.codes if len(c) == digits]
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


def find_format(formats: Formats, name: str) -> PlateFormat:
    """Return the format of a name.

    Raises:
        KeyError: There is none.
    """
    return {one.name: one for one in formats.format}[name]


def layout_of(text: str, one: PlateFormat, formats: Formats) -> str | None:
    """Return the layout of a format that a text has, its lines told by `/`; None for none."""
    return next((layout for layout in one.layouts if formats.fits(text, layout)), None)


def kinds_of(text: str) -> str:
    """Return the kinds of a text's characters, breaks kept: `K042/77` is `LDDD/DD`."""
    return "".join(c if c == BREAK else "D" if c.isdigit() else "L" for c in text)


def plain(text: str) -> str:
    """Return what a plate says, its lines one after the other: `K042/77` says `K04277`."""
    return text.replace(BREAK, "")


def _draw_format(rng: np.random.Generator, formats: Formats) -> PlateFormat:
    shares = np.array([one.share for one in formats.format])
    return formats.format[int(rng.choice(len(shares), p=shares / shares.sum()))]
