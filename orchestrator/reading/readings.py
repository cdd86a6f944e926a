"""Turns a plate's logits into the text that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.contract import Array
from orchestrator.formats.plate_formats import Formats
from orchestrator.formats.regions import region_in
from orchestrator.plates import Plate
from orchestrator.reading.ctc import Reading, decode
from orchestrator.reading.grammar import Grammar


def read_lines(
    logits: Array, lines: Sequence[int], formats: Formats, temperature: float
) -> list[Reading]:
    """Read crops as plates of a given number of lines.

    Args:
        logits: float32 [N, classes, T].
        lines: Lines of each plate, 1 or 2.
        formats: The plate formats.
        temperature: Divides the logits.

    Returns:
        N readings in the order of the crops.

    Raises:
        ModelError: The logits have another number of classes or are not finite.
    """
    readings: dict[int, Reading] = {}
    for count in set(lines):
        chosen = [index for index, one in enumerate(lines) if one == count]
        read = decode(logits[chosen], Grammar.of(formats, count), temperature=temperature)
        readings |= {i: replace(one, lines=count) for i, one in zip(chosen, read, strict=True)}
    return [readings[index] for index in range(len(lines))]


def with_text(plate: Plate, reading: Reading, text_threshold: float, formats: Formats) -> Plate:
    """Add the reading; the best candidate becomes the text when its score is high enough."""
    best = reading.candidates[0][0] if reading.candidates else ""
    text = best if reading.score >= text_threshold else ""
    name = formats.format_of(text, reading.lines)
    return replace(
        plate,
        text=text,
        text_score=reading.score,
        raw_text=reading.raw_text,
        character_scores=reading.character_scores,
        candidates=reading.candidates,
        format=name,
        region=region_in(formats, text, name),
    )
