"""The texts and the country of a plate, from a reader of several countries and their signs."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.formats.layouts import code_in
from orchestrator.formats.plate_formats import Formats
from orchestrator.formats.regions import known_region, region_with
from orchestrator.plates import Plate, PlateCountry, country_code
from orchestrator.reading.ctc import Reading


def with_country(plate: Plate, reading: Reading, text_threshold: float, formats: Formats) -> Plate:
    """Add the reading without signs, and the country of its text; see `pipeline.with_text`."""
    best_text = reading.candidates[0][0] if reading.candidates else ""
    countries, reading = _weigh(reading, formats), _without_signs(reading, formats)
    signed_text = best_text if reading.score >= text_threshold else ""
    text, (name, layout) = formats.shown(signed_text), formats.match(signed_text, reading.lines)
    code = country_code(name)
    return replace(
        plate,
        text=text,
        text_score=reading.score,
        raw_text=reading.raw_text,
        character_scores=reading.character_scores,
        candidates=reading.candidates,
        format=name,
        region=region_with(formats, code_in(signed_text, layout)) or known_region(text, name),
        country=PlateCountry(code, countries[code]) if code and code in countries else None,
    )


def _weigh(reading: Reading, formats: Formats) -> dict[str, float]:
    """Return the share of each country in the probability of the candidates."""
    shares: dict[str, float] = {}
    for text, score in reading.candidates:
        code = country_code(formats.match(text, reading.lines)[0])
        shares[code] = shares.get(code, 0.0) + score
    total = sum(shares.values())
    return {code: score / total for code, score in shares.items() if total}


def _without_signs(reading: Reading, formats: Formats) -> Reading:
    """Return a reading without the signs of countries; texts that become equal are joined."""
    scores = zip(reading.raw_text, reading.character_scores, strict=True)
    kept_chars = [(char, score) for char, score in scores if char not in formats.signs]
    texts: dict[str, float] = {}
    for text, score in reading.candidates:
        shown_text = formats.shown(text)
        texts[shown_text] = texts.get(shown_text, 0.0) + score
    candidates = tuple(texts.items())
    return replace(
        reading,
        raw_text="".join([char for char, _ in kept_chars]),
        character_scores=tuple([score for _, score in kept_chars]),
        candidates=tuple(sorted(candidates, key=lambda candidate: -candidate[1])),
    )
