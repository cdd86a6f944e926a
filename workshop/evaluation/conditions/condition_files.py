"""Writes the results under conditions: CSV tables, curves, and the calibration of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from workshop.evaluation.conditions.camera_conditions import AS_IT_IS
from workshop.evaluation.conditions.condition_measurement import CURVES, ByCondition, pool
from workshop.evaluation.measurement import keep_found, measure_calibration
from workshop.evaluation.outcomes import Outcome
from workshop.evaluation.reading import ScoreBin
from workshop.evaluation.report_files.drawings import FROM_0_TO_1, draw_reliability
from workshop.evaluation.results import ConditionResult, ConditionsResult, RatePoint
from workshop.reporting.files import write_csv
from workshop.reporting.plots import ACCENT, FAINT, INK, Bars, Diagram, Line, plot

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
    curves = [draw_curve(title, points_of(result)) for title, points_of in CURVES]
    plot([curves], folder / "condition_curves.png")
    plot([[draw_wrong(result.each)]], folder / "condition_errors.png")
    _write_reliability(outcomes, folder)


def _write_reliability(outcomes: ByCondition, folder: Path) -> None:
    """Write the calibration of scores on the scenes, and on all conditions together."""
    scenes = measure_calibration(keep_found(outcomes[AS_IT_IS]))
    mixture = measure_calibration(keep_found(pool(outcomes)))
    diagrams = [
        draw_reliability(calibration.bins, calibration.ece, of)
        for calibration, of in ((scenes, "as it is"), (mixture, "all conditions"))
    ]
    write_csv(ScoreBin, mixture.bins, folder / "condition_reliability.csv")
    plot(list(zip(*diagrams, strict=True)), folder / "condition_reliability.png")


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


def draw_curve(title: str, points: Sequence[RatePoint]) -> Diagram:
    """Draw the part of the plates that is read, over widths, turns or smears."""
    x = [point.x for point in points]
    marks = (
        Line(x, [point.low for point in points], "95 % interval", FAINT, "--"),
        Line(x, [point.high for point in points], "", FAINT, "--"),
        Line(x, [point.rate for point in points], "read", INK, "o-"),
    )
    return Diagram("", title, "part of the plates that is read", marks, y_limits=FROM_0_TO_1)


def draw_wrong(each: Sequence[ConditionResult]) -> Diagram:
    """Draw the part of the shown texts that is wrong, with a bar for each condition."""
    percent = [100 * (result.std.wrong_of_shown or 0.0) for result in each]
    places = [index - 0.4 for index in range(len(each))]
    ends = (-0.5, len(each) - 0.5)
    most = Line(ends, (100 * MAX_WRONG_SHARE,) * 2, f"{100 * MAX_WRONG_SHARE:g} %", FAINT, "--")
    return Diagram(
        "Texts shown that are wrong", "", "wrong of shown, %",
        (Bars(places, percent, 0.8, colour=ACCENT), most), ends,
        x_names=tuple(result.name for result in each), x_names_deg=60,
    )  # fmt: skip
