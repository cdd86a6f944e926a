"""From what a plate's logits say to what is shown of it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.ctc import Reading
from orchestrator.formats import Formats
from orchestrator.plates import Plate


def with_text(plate: Plate, reading: Reading, text_threshold: float, formats: Formats) -> Plate:
    """Add what was read; the best candidate is shown as the text when it is sure enough."""
    best, score = reading.candidates[0] if reading.candidates else ("", 0.0)
    text = best if score >= text_threshold else ""
    return replace(
        plate,
        text=text,
        text_score=score,
        raw_text=reading.raw_text,
        character_scores=reading.character_scores,
        candidates=reading.candidates,
        format=formats.format_of(text),
    )
