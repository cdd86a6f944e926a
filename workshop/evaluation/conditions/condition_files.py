"""Writes the results under conditions: CSV tables, curves, and the calibration of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from workshop.evaluation.conditions.camera_conditions import AS_IT_IS
from workshop.evaluation.conditions.condition_measurement import CURVES, ByCondition, pool
from workshop.evaluation.measurement import keep_found, measure_calibration
from workshop.evaluation.outcomes import Outcome
from workshop.evaluation.reading import ScoreBin
from workshop.evaluation.report_files.drawings import FROM_0_TO_1, draw_reliability
from workshop.evaluation.results import ConditionResult, ConditionsResult, RatePoint
from workshop.reporting.files import write_csv
from workshop.reporting.plots import ACCENT, FAINT, INK, open_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_WRONG_SHARE = 0.02
"""The part of the shown texts that may be wrong under a condition; drawn as a line."""


def write_conditions(result: ConditionsResult, outcomes: ByCondition, folder: Path) -> None:
    """Write the CSV files and the plots of the conditions.

    Args:
        result: The result that was measured on the outcomes.
        outcomes: The outcomes of the standard plates under each condition.
        folder: The output folder.
    """
    plates = (
        _plate_row(condition.name, outcome)
        for condition, plate_outcomes in outcomes.items()
        for outcome in plate_outcomes
    )
    points = (
        {"curve": title, **asdict(point)}
        for title, points_of in CURVES
        for point in points_of(result)
    )
    rows = map(_row, (*result.each, result.mean))
    tables = {"conditions": rows, "condition_plates": plates, "condition_curves": points}
    for name, lines in tables.items():
        pd.DataFrame(lines).to_csv(folder / f"{name}.csv", index=False)
    with open_figure(folder / "condition_curves.png", 1, len(CURVES)) as diagrams:
        for axes, (title, points_of) in zip(diagrams, CURVES, strict=True):
            draw_curve(axes, title, points_of(result))
    with open_figure(folder / "condition_errors.png", 1, 1) as (axes,):
        draw_wrong(axes, result.each)
    _write_reliability(outcomes, folder)


def _write_reliability(outcomes: ByCondition, folder: Path) -> None:
    """Write the calibration of scores on the scenes, and on all conditions together."""
    scenes = measure_calibration(keep_found(outcomes[AS_IT_IS]))
    mixture = measure_calibration(keep_found(pool(outcomes)))
    write_csv(ScoreBin, mixture.bins, folder / "condition_reliability.csv")
    with open_figure(folder / "condition_reliability.png", 2, 2) as (left, right, *below):
        draw_reliability(left, below[0], scenes.bins, scenes.ece, "as it is")
        draw_reliability(right, below[1], mixture.bins, mixture.ece, "all conditions")


def _row(result: ConditionResult) -> dict[str, Any]:
    calibration = {"ece": result.ece, "ece_equal_mass": result.ece_equal_mass}
    return {"condition": result.name, **asdict(result.std), **calibration}


def _plate_row(name: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "condition": name,
        "image": outcome.path.name,
        "wanted": outcome.label.text,
        "verdict": outcome.verdict,
        "best": outcome.best,
        "text_score": round(outcome.score, 4),
        "width_px": round(outcome.width_px, 1),
    }


def draw_curve(axes: Axes, title: str, points: Sequence[RatePoint]) -> None:
    """Draw the part of the plates that is read, over widths, turns or smears."""
    x = [point.x for point in points]
    axes.plot(x, [point.low for point in points], "--", color=FAINT, label="95 % interval")
    axes.plot(x, [point.high for point in points], "--", color=FAINT)
    axes.plot(x, [point.rate for point in points], "o-", color=INK, label="read")
    axes.set(xlabel=title, ylabel="part of the plates that is read", ylim=FROM_0_TO_1)


def draw_wrong(axes: Axes, each: Sequence[ConditionResult]) -> None:
    """Draw the part of the shown texts that is wrong, with a bar for each condition."""
    percent = [100 * (result.std.wrong_of_shown or 0.0) for result in each]
    most = 100 * MAX_WRONG_SHARE
    ends = (-0.5, len(each) - 0.5)
    axes.bar(range(len(each)), percent, color=ACCENT, edgecolor="white")
    axes.plot(ends, (most, most), "--", color=FAINT, label=f"{most:g} %")
    axes.set_xticks(
        range(len(each)), [result.name for result in each], rotation=60, ha="right",
        rotation_mode="anchor",
    )  # fmt: skip
    axes.set(title="Texts shown that are wrong", ylabel="wrong of shown, %", xlim=ends)
