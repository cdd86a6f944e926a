"""Measures the reading of plates under conditions: tables, and points of curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from torch import Tensor

from orchestrator.errors import DataError
from orchestrator.plates import Plates
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
from workshop.evaluation.measurement import count_verdicts, keep_found, measure_calibration, of_type
from workshop.evaluation.outcomes import READ, Outcome, judge_scenes
from workshop.evaluation.proportions import bin_names, bin_of, wilson_interval
from workshop.evaluation.results import ConditionResult, ConditionsResult, RatePoint
from workshop.reporting.tables import (
    Cell,
    format_markdown,
    format_number,
    format_percent,
    format_table,
    ratio,
)

WIDTH_EDGES_PX = (15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 50.0, 60.0, 80.0, 100.0, 130.0, 160.0, 200.0)
"""The bin edges of the curve of widths. For small plates they are finer than in the report."""

ByCondition = Mapping[Condition, Sequence[Outcome]]
"""The outcomes of the standard plates by condition: the same plates in the same order."""


def judge_conditions(
    scenes: Sequence[Scene],
    read: Callable[[Tensor], Plates],
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
    by_condition = {}
    for number, condition in enumerate(EVERY_CONDITION, 1):
        label = f"{number} of {len(EVERY_CONDITION)}, {condition.name}"
        outcomes = judge_scenes(watch(standard, label), read, condition)
        by_condition[condition] = of_type(outcomes, STANDARD)
    return by_condition


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
        _point(
            names[index],
            round(fmean(width for width, _ in inside), 1),
            [outcome for _, outcome in inside],
        )
        for index, inside in sorted(bins.items())
    )


def _width_px(outcome: Outcome) -> float:
    x0, _, x1, _ = outcome.label.region
    return outcome.width_px or x1 - x0


def _point(name: str, x: float, outcomes: Sequence[Outcome]) -> RatePoint:
    plates, read_count = len(outcomes), sum(outcome.verdict == READ for outcome in outcomes)
    low, high = wilson_interval(read_count, plates) or (0.0, 1.0)
    return RatePoint(name, x, plates, read_count, read_count / plates, low, high)


COLUMNS = ("read", "wrong", "not shown", "found", "wrong of shown", "ECE")
COMPARED = ("read", "wrong of shown", "ECE")
CURVES: tuple[tuple[str, Callable[[ConditionsResult], Sequence[RatePoint]]], ...] = (
    ("width of the plate, px", lambda result: result.by_width_px),
    ("turn, degrees", lambda result: result.by_turn_deg),
    ("smear, px", lambda result: result.by_smear_px),
)
"""The curves: the title of the x axis, and the function that returns the points."""


def summarize_conditions(result: ConditionsResult) -> list[str]:
    """Return the table of conditions, and the points of the curves, as texts."""
    rows = [(condition.name, *_row(condition)) for condition in (*result.each, result.mean)]
    title = f"conditions, {result.each[0].std.plates} standard plates in each"
    return [format_table((title, *COLUMNS), rows), *_tabulate_curves(result)]


def _row(result: ConditionResult) -> tuple[Cell, ...]:
    std = result.std
    rates = (std.read, std.wrong, std.not_shown, std.found)
    return (
        *(format_percent(ratio(count, std.plates)) for count in rates),
        format_percent(std.wrong_of_shown),
        format_number(result.ece),
    )


def _tabulate_curves(result: ConditionsResult) -> list[str]:
    return [
        format_table(
            (f"read by {title}", "", ""),
            [
                (f"  {point.bin}", f"{point.read}/{point.plates}", format_percent(point.rate))
                for point in points_of(result)
            ],
        )
        for title, points_of in CURVES
    ]


def compare_conditions(results: Mapping[str, ConditionsResult]) -> str:
    """Return the conditions of several evaluations side by side, in Markdown.

    Args:
        results: By the name of the evaluation; the conditions of the first one are the rows.
    """
    tables = [
        {condition.name: condition for condition in (*result.each, result.mean)}
        for result in results.values()
    ]
    header = ("", *(f"{name}: {title}" for name in results for title in COMPARED))
    rows = [
        (name, *(cell for table in tables for cell in _compared(table.get(name))))
        for name in tables[0]
    ]
    return format_markdown(header, rows)


def _compared(result: ConditionResult | None) -> tuple[Cell, ...]:
    if result is None:
        return (None,) * len(COMPARED)
    std = result.std
    return (
        format_percent(std.read_rate),
        format_percent(std.wrong_of_shown),
        format_number(result.ece),
    )


def compare_curves(results: Mapping[str, ConditionsResult]) -> str:
    """Return the part that is read, in a Markdown table each for widths, turns and smears.

    Args:
        results: By the name of the evaluation; the bins of the first one are the columns.
    """
    return "\n".join(
        _compare_curve(title, {name: points_of(result) for name, result in results.items()})
        for title, points_of in CURVES
    )


def _compare_curve(title: str, curves: Mapping[str, Sequence[RatePoint]]) -> str:
    bins = [point.bin for point in next(iter(curves.values()))]
    rows = []
    for name, points in curves.items():
        rates = {point.bin: point.rate for point in points}
        rows.append((name, *(format_percent(rates.get(name_of_bin)) for name_of_bin in bins)))
    return format_markdown((title, *bins), rows)
