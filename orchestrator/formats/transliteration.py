"""The Cyrillic letters of Russian plates, as registers and databases write them."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.plates import CYRILLIC, LATIN, TO_CYRILLIC, Plate, Plates

TO_LATIN = str.maketrans(CYRILLIC + CYRILLIC.lower(), LATIN * 2)


def to_cyrillic(text: str) -> str:
    """Return a plate's text in Cyrillic letters; characters without a look-alike stay."""
    return text.translate(TO_CYRILLIC)


def to_latin(text: str) -> str:
    """Return a plate's text in the Latin capitals that the service returns."""
    return text.translate(TO_LATIN).upper()


def in_cyrillic(plates: Plates) -> Plates:
    """Return plates whose texts, also those of the candidates, are in Cyrillic letters."""
    return replace(plates, plates=tuple(map(_in_cyrillic, plates)))


def _in_cyrillic(plate: Plate) -> Plate:
    return replace(
        plate,
        text=to_cyrillic(plate.text),
        raw_text=to_cyrillic(plate.raw_text),
        candidates=tuple((to_cyrillic(text), score) for text, score in plate.candidates),
    )
