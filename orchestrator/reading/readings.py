"""Turns a plate's logits into the text that is shown."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.formats.plate_formats import Formats
from orchestrator.formats.regions import region_in
from orchestrator.plates import CANDIDATES, Plate
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
    best = reading.candidates[0][0] if reading.candidates else ""
    text = best if reading.score >= text_threshold else ""
    name, _ = formats.match(text, reading.lines)
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
        region=region_in(formats, text, name),
    )
