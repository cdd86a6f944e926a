"""Judged plates under every condition, made without a reader."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.plates import Plate
from workshop.evaluation.conditions.camera_conditions import EVERY_CONDITION, Condition
from workshop.evaluation.datasets import LabelledPlate
from workshop.evaluation.outcomes import MISSED, NOT_SHOWN, READ, WRONG, Outcome

TEXT = "A001AA77"
LABEL = LabelledPlate(TEXT, "std", (0.0, 0.0, 60.0, 30.0))


def outcome(verdict: str, score: float = 0.9, width_px: float = 100.0) -> Outcome:
    """Return a plate with this outcome."""
    if verdict == MISSED:
        return Outcome(Path("a.jpg"), LABEL)
    read = "X001AA77" if verdict == WRONG else TEXT
    shown = "" if verdict == NOT_SHOWN else read
    box = (0.0, 0.0, width_px, 20.0)
    plate = Plate(box, 0.9, shown, score, read, candidates=((read, score),))
    return Outcome(Path("a.jpg"), LABEL, plate)


def judged(
    exceptions: Mapping[Condition, list[Outcome]], plates: int = 2
) -> dict[Condition, list[Outcome]]:
    """So many plates, read under each condition but those named."""
    read = [outcome(READ)] * plates
    return {condition: exceptions.get(condition, read) for condition in EVERY_CONDITION}
