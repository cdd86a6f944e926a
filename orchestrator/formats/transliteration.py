"""The Cyrillic letters of Russian plates, as registers and databases write them."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.plates import Plate, Plates

LATIN = "ABEKMHOPCTYX"
CYRILLIC = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
"""The letters that look the same in both alphabets (GOST R 50577-2018): A, VE, IE, KA, EM, EN, O,
ER, ES, TE, U, HA. They are written as numbers so that nobody mixes them up."""
TO_CYRILLIC = str.maketrans(LATIN, CYRILLIC)
TO_LATIN = str.maketrans(CYRILLIC + CYRILLIC.lower(), LATIN * 2)
IN_CYRILLIC = "ru_"
"""Prefix of the names of formats whose letters are Cyrillic."""
IN_LATIN = "ru_diplomatic"
"""Prefix of the formats among these whose letters are Latin: CD, D and T (GOST R 50577-2018)."""


def to_cyrillic(text: str) -> str:
    """Return a plate's text in Cyrillic letters; characters without a look-alike stay."""
    return text.translate(TO_CYRILLIC)


def to_latin(text: str) -> str:
    """Return a plate's text in the Latin capitals that the service returns."""
    return text.translate(TO_LATIN).upper()


def native_text(text: str, format_name: str) -> str | None:
    """Return a plate's text in the letters that are on the plate, if they are not Latin.

    Args:
        text: The text in Latin letters.
        format_name: Name of the text's format.

    Returns:
        None for a format whose letters are Latin, an unknown format, or no format.
    """
    is_cyrillic = format_name.startswith(IN_CYRILLIC) and not format_name.startswith(IN_LATIN)
    return text.translate(TO_CYRILLIC) if text and is_cyrillic else None


def in_cyrillic(plates: Plates) -> Plates:
    """Return plates whose texts, also those of the candidates, are in Cyrillic letters."""
    return Plates(tuple(map(_in_cyrillic, plates)))


def _in_cyrillic(plate: Plate) -> Plate:
    return replace(
        plate,
        text=to_cyrillic(plate.text),
        raw_text=to_cyrillic(plate.raw_text),
        candidates=tuple((to_cyrillic(text), score) for text, score in plate.candidates),
    )
