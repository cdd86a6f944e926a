"""From what a plate's logits say to what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.contract import Array
from orchestrator.ctc import Reading, decode
from orchestrator.formats import Formats
from orchestrator.grammar import Grammar
from orchestrator.plates import Plate
from orchestrator.regions import region_in


def read_lines(
    logits: Array, squares: Sequence[int], formats: Formats, temperature: float
) -> list[Reading]:
    """Read every plate in one line, the square ones in two lines as well; the surer reading stays.

    Args:
        logits: float32 [N + M, classes, T]: of N flat crops, then of M unfolded ones.
        squares: Which of the N plates the M are.
        formats: What plates may say.
        temperature: Divides the logits.

    Returns:
        N readings in the order of the plates.

    Raises:
        ModelError: The logits have another number of classes or are not finite.
    """
    count = len(logits) - len(squares)
    readings = decode(logits[:count], Grammar.of(formats), temperature=temperature)
    if not squares:
        return readings
    unfolded = decode(logits[count:], Grammar.of(formats, 2), temperature=temperature)
    has_flat_plates = bool(formats.layouts(1))
    for index, reading in zip(squares, unfolded, strict=True):
        if reading.score > readings[index].score or not has_flat_plates:
            readings[index] = replace(reading, lines=2)
    return readings


def with_text(plate: Plate, reading: Reading, text_threshold: float, formats: Formats) -> Plate:
    """Add what was read; the best candidate is shown as the text when it is sure enough.

    The corners of a plate read in two lines become its box: they were those of the crop as it is,
    and what STN says of the unfolded one is no quadrilateral of the picture.
    """
    best = reading.candidates[0][0] if reading.candidates else ""
    text = best if reading.score >= text_threshold else ""
    name = formats.format_of(text, reading.lines)
    x0, y0, x1, y1 = plate.xyxy
    box = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return replace(
        plate,
        text=text,
        text_score=reading.score,
        raw_text=reading.raw_text,
        character_scores=reading.character_scores,
        candidates=reading.candidates,
        corners=plate.corners if reading.lines == 1 else box,
        format=name,
        region=region_in(formats, text, name),
    )
