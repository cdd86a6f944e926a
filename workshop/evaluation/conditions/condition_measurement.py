"""Measures the reading of plates under conditions: table rows, and points of curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from torch import Tensor

from orchestrator.errors import DataError
from workshop.evaluation.conditions.camera_conditions import (
    AS_IT_IS,
    CONDITIONS,
    EVERY_CONDITION,
    SIZES,
    SMEARS_PX,
    TURNS_DEG,
    Condition,
    Sweep,
)
from workshop.evaluation.datasets import STANDARD, Scene
from workshop.evaluation.measurement import (
    count_verdicts,
    keep_found,
    measure_calibration,
    measure_letters,
    of_type,
)
from workshop.evaluation.outcomes import READ, Outcome, judge_scenes
from workshop.evaluation.proportions import bin_names, bin_of, wilson_interval
from workshop.evaluation.recognizers import Answer
from workshop.evaluation.results import ConditionResult, ConditionsResult, RatePoint

WIDTH_EDGES_PX = (15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 50.0, 60.0, 80.0, 100.0, 130.0, 160.0, 200.0)
"""The bin edges of the curve of widths. For small plates they are finer than in the report."""

ByCondition = Mapping[Condition, Sequence[Outcome]]
"""The outcomes of the standard plates by condition: the same plates in the same order."""


def judge_conditions(
    scenes: Sequence[Scene],
    read: Callable[[Tensor], Answer],
    watch: Callable[[Sequence[Scene], str], Iterable[Scene]] = lambda scenes, _: scenes,
) -> dict[Condition, list[Outcome]]:
    """Read every scene with a standard plate under each condition of the table and the curves.

    Args:
        scenes: The labelled pictures.
        read: Reads the plates of a picture, uint8 [H, W, 3] BGR.
        watch: Takes the scenes and a label for progress, and yields the scenes one by one.

    Returns:
        The outcomes of the standard plates.
    """
    standard = [scene for scene in scenes if any(plate.type == STANDARD for plate in scene.plates)]
    judged = {}
    for number, condition in enumerate(EVERY_CONDITION, 1):
        label = f"{number} of {len(EVERY_CONDITION)}, {condition.name}"
        outcomes = judge_scenes(watch(standard, label), read, condition)
        judged[condition] = of_type(outcomes, STANDARD)
    return judged


def measure_conditions(outcomes: ByCondition) -> ConditionsResult:
    """Measure the conditions of the table, and the points of the curves.

    Raises:
        DataError: There are no standard plates.
    """
    if not outcomes[AS_IT_IS]:
        raise DataError("conditions: wanted standard plates, got none")
    return ConditionsResult(
        each=tuple(_measure(condition.name, outcomes[condition]) for condition in CONDITIONS),
        mean=_measure(f"mean of {len(CONDITIONS)}", pool(outcomes)),
        by_width_px=_measure_widths(outcomes),
        by_turn_deg=_measure_sweep(outcomes, TURNS_DEG),
        by_smear_px=_measure_sweep(outcomes, SMEARS_PX),
        letters=measure_letters(keep_found(pool(outcomes))),
    )


def pool(outcomes: ByCondition) -> list[Outcome]:
    """Return the outcomes of all conditions of the table together."""
    return [outcome for condition in CONDITIONS for outcome in outcomes[condition]]


def _measure(name: str, outcomes: Sequence[Outcome]) -> ConditionResult:
    calibration = measure_calibration(keep_found(outcomes))
    return ConditionResult(
        name, count_verdicts(outcomes), calibration.ece, calibration.ece_equal_mass
    )


def _measure_sweep(outcomes: ByCondition, sweep: Sweep) -> tuple[RatePoint, ...]:
    """Return a point for each strength, from the lowest to the highest."""
    return tuple(_point(f"{x:g}", x, outcomes[sweep[x]]) for x in sorted(sweep))


def _measure_widths(outcomes: ByCondition) -> tuple[RatePoint, ...]:
    """Return a point for each bin of widths that holds plates, over all sizes together.

    The width of a plate is the width of its box in the original picture times the scale factor. If
    it was not found there, the width of its region is used. So a plate that is missed when it is
    small still has a width.
    """
    widths = [_width_px(outcome) for outcome in outcomes[AS_IT_IS]]
    bins: dict[int, list[tuple[float, Outcome]]] = {}
    for factor, condition in SIZES.items():
        for width, outcome in zip(widths, outcomes[condition], strict=True):
            index = bin_of(factor * width, WIDTH_EDGES_PX)
            bins.setdefault(index, []).append((factor * width, outcome))
    names = bin_names(WIDTH_EDGES_PX)
    return tuple(
        _point(names[index], round(fmean(width for width, _ in inside), 1), [o for _, o in inside])
        for index, inside in sorted(bins.items())
    )


def _width_px(outcome: Outcome) -> float:
    x0, _, x1, _ = outcome.label.region
    return outcome.width_px or x1 - x0


def _point(name: str, x: float, outcomes: Sequence[Outcome]) -> RatePoint:
    plates, read = len(outcomes), sum(outcome.verdict == READ for outcome in outcomes)
    low, high = wilson_interval(read, plates) or (0.0, 1.0)
    return RatePoint(name, x, plates, read, read / plates, low, high)
