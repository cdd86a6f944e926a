"""Tells texts that are on no plate: a gate would never open for such an entry of a list."""

from __future__ import annotations

from functools import lru_cache

from orchestrator.formats.layouts import flatten
from orchestrator.formats.plate_formats import russian

ZERO_OR_O = {"D": str.maketrans("O", "0"), "L": str.maketrans("0", "O")}
"""Characters by the place of a layout at which people type others for them."""
LOOK_ALIKES = {
    "D": str.maketrans("OQIL\u0417ZS\u0411\u0422B", "0011325678"),
    "L": str.maketrans("0\u04178", "OBB"),
}
EXAMPLE = "A123BC77"
ACCEPT = "accept doubtful texts to take it"
"""Advice of an error about a text that could be taken."""


def explain_doubt(text: str, typed_text: str) -> str:
    """Return why a text is probably on no plate; `""` for a possible text.

    The kinds of plates are those that the project's weights read. A text of a rare kind, which is
    that of a car with O in place of 0, is doubtful, too: AO12BC77 could be on a moped.

    Args:
        text: The text as entries have it.
        typed_text: The text as it was given.
    """
    formats = russian()
    name = formats.format_of(text, 1) or formats.format_of(text, 2)
    meant_text = _fit(text, _layouts()[0], ZERO_OR_O) if name else _correct(text) or EXAMPLE
    if meant_text not in ("", text):
        return f"text: wanted a plate's text such as {meant_text}, got {typed_text!r}"
    code = formats.code_of(text, name)
    if code and formats.region_of(text, name) is None:
        return f"text: wanted a plate's text with a known region, got {code} in {typed_text!r}"
    return ""


def _correct(text: str) -> str:
    """Return the text that was probably meant; `""` if there is none."""
    return next(filter(None, (_fit(text, layout, LOOK_ALIKES) for layout in _layouts())), "")


@lru_cache(maxsize=1)
def _layouts() -> tuple[str, ...]:
    """Return the layouts of plates in one line, the usual ones first."""
    usual = sorted(russian().format, key=lambda plates: -plates.share)
    return tuple(dict.fromkeys(flatten(layout) for plates in usual for layout in plates.layouts))


def _fit(text: str, layout: str, swaps: dict[str, dict[int, int]]) -> str:
    """Return a text whose characters are changed to those of a layout; `""` if others are left."""
    formats = russian()
    fitted_text = "".join(
        char if formats.admits(place, char) else char.translate(swaps.get(place, swaps["D"]))
        for char, place in zip(text, layout, strict=False)
    )
    is_whole = len(text) == len(layout) and formats.fits(fitted_text, layout)
    return fitted_text if is_whole and formats.region_of(fitted_text) else ""
