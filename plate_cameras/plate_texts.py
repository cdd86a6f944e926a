"""Texts of plates as people and cameras write them."""

from __future__ import annotations

import re
import unicodedata

from orchestrator.formats.transliteration import to_latin

SKIPPED = re.compile(r"[\s\u00ad\u200b-\u200f\u2010-\u2015\u2212\u2060\ufeff/|-]+")
"""Blanks, hyphens and strokes between the parts of a plate."""
COUNTRY = re.compile(
    r"(?<=[0-9*?])(?:RUS|PYC)$|(?<=[A-Z][0-9]{3}[A-Z]{2})(?:RUS|PYC)(?=[0-9]{2,3}$)"
)
"""The country beside the region of Russian plates, also if it was written in Cyrillic letters."""


def strip_text(text: str) -> str:
    """Return a text in Latin capitals and digits, without blanks, hyphens and Russia's letters."""
    characters = SKIPPED.sub("", unicodedata.normalize("NFKC", text))
    ascii_digits = (str(unicodedata.decimal(char, char)) for char in characters)
    return COUNTRY.sub("", to_latin("".join(ascii_digits)))
