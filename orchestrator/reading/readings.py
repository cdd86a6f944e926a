"""Turns a plate's logits into the text that is shown."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.formats.plate_formats import Formats
from orchestrator.formats.regions import known_region, region_in
from orchestrator.plates import CANDIDATES, Plate, PlateCountry, country_code
from orchestrator.reading.ctc import Reading

CUT_TRUST = 0.5
"""Factor of the probabilities of texts of plates that may be cut: of rendered plates that lost up
to 30 % at the right, half of the texts that had been shown were right."""


def join_readings(first: Reading, second: Reading) -> Reading:
    """Join two readings of one plate, which was cut along two boxes.

    The surer one counts if both name the same text. It also counts on plates of two lines, where
    the other has often lost a part of a line. In all other cases one of them is wrong, and nobody
    knows which: each text gets the mean of its two probabilities.
    """
    surer, other = sorted((first, second), key=lambda reading: -reading.score)
    in_one_line = surer.lines == other.lines == 1
    texts = {one.candidates[0][0] for one in (surer, other) if one.candidates}
    if not in_one_line or len(texts) < 2:
        return surer
    means: dict[str, float] = {}
    for text, probability in surer.candidates + other.candidates:
        means[text] = means.get(text, 0.0) + probability / 2
    best = sorted(means.items(), key=lambda candidate: -candidate[1])[:CANDIDATES]
    return replace(surer, candidates=tuple(best))


def doubt(reading: Reading) -> Reading:
    """Return the reading of a plate that may be cut: its texts are less probable."""
    candidates = tuple((text, CUT_TRUST * score) for text, score in reading.candidates)
    return replace(reading, candidates=candidates)


def with_text(plate: Plate, reading: Reading, text_threshold: float, formats: Formats) -> Plate:
    """Add the reading; the best candidate becomes the text when its score is high enough."""
    signed = reading.candidates[0][0] if reading.candidates else ""
    countries = _weigh_countries(reading, formats) if formats.country else {}
    if formats.country:
        reading = _without_signs(reading, formats)
    is_sure = reading.score >= text_threshold
    name = formats.match(signed, reading.lines)[0] if is_sure else ""
    code = country_code(name)
    text = formats.shown(signed) if is_sure else ""
    return Plate(  # made anew: `replace` takes three times as long
        plate.xyxy,
        plate.detection_score,
        text=text,
        text_score=reading.score,
        raw_text=reading.raw_text,
        character_scores=reading.character_scores,
        candidates=reading.candidates,
        corners=plate.corners,
        format=name,
        region=region_in(formats, text, name) or (known_region(text, name) if countries else None),
        country=PlateCountry(code, countries[code]) if countries and text else None,
    )


def _weigh_countries(reading: Reading, formats: Formats) -> dict[str, float]:
    """Return the share of each country in the probability of the candidates."""
    shares: dict[str, float] = {}
    for text, score in reading.candidates:
        code = country_code(formats.match(text, reading.lines)[0])
        shares[code] = shares.get(code, 0.0) + score
    total = sum(shares.values())
    return {code: score / total for code, score in shares.items() if total}


def _without_signs(reading: Reading, formats: Formats) -> Reading:
    """Return a reading without the signs of countries; texts that become equal are one."""
    scores = zip(reading.raw_text, reading.character_scores, strict=True)
    kept = [(char, score) for char, score in scores if char not in formats.signs]
    texts: dict[str, float] = {}
    for text, score in reading.candidates:
        shown = formats.shown(text)
        texts[shown] = texts.get(shown, 0.0) + score
    candidates = tuple(texts.items())
    return replace(
        reading,
        raw_text="".join([char for char, _ in kept]),
        character_scores=tuple([score for _, score in kept]),
        candidates=tuple(sorted(candidates, key=lambda candidate: -candidate[1])),
    )
