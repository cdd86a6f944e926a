"""Reading under conditions: figures and tables."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from torch import Tensor

from orchestrator.plates import Plate, Plates
from tests.workshop.evaluation.scripted import TEXT, make_outcomes, outcome
from workshop.evaluation.conditions.camera_conditions import (
    CONDITIONS,
    EVERY_CONDITION,
    SIZES,
    SMEARS_PX,
    TURNS_DEG,
)
from workshop.evaluation.conditions.condition_measurement import (
    compare_conditions,
    compare_curves,
    judge_conditions,
    measure_conditions,
    summarize_conditions,
)
from workshop.evaluation.datasets import LabelledPlate, Scene
from workshop.evaluation.outcomes import MISSED, NOT_SHOWN, READ, WRONG
from workshop.evaluation.results import RatePoint

NIGHT = next(condition for condition in CONDITIONS if condition.name == "night")


def read_red(picture: Tensor) -> Plates:
    """Read `TEXT` where the picture is red."""
    _, green, red = picture.int().unbind(2)
    y, x = np.nonzero(((red - green) > 60).numpy())
    box = tuple(map(float, (x.min(), y.min(), x.max() + 1, y.max() + 1)))
    return Plates((Plate(box, 0.9, TEXT, 1.0, TEXT, candidates=((TEXT, 1.0),)),))


@pytest.fixture
def scenes(tmp_path: Path) -> list[Scene]:
    """A red plate near the upper right corner, and a picture without a standard plate."""
    picture = np.zeros((240, 320, 3), np.uint8)
    picture[40:80, 200:280, 2] = 255
    cv2.imwrite(str(tmp_path / "a.png"), picture)
    plate = LabelledPlate(TEXT, "std", (230, 50, 250, 70))
    others = (LabelledPlate("B002BB77", "bad", (0, 0, 9, 9)),)
    return [
        Scene(tmp_path / "a.png", (plate, *others)),
        Scene(tmp_path / "there is none.png", others),
    ]


def test_a_label_goes_with_the_plate_under_every_condition(scenes: list[Scene]) -> None:
    labels = []

    def watch(watched: list[Scene], label: str) -> list[Scene]:
        labels.append((len(watched), label))
        return watched

    outcomes = judge_conditions(scenes, read_red, watch)
    verdicts = {
        condition.name: [outcome.verdict for outcome in of_condition]
        for condition, of_condition in outcomes.items()
    }
    assert verdicts == {condition.name: [READ] for condition in EVERY_CONDITION}
    assert labels[0] == (1, f"1 of {len(EVERY_CONDITION)}, as it is")
    assert len(labels) == len(EVERY_CONDITION)


def test_the_mean_weighs_every_condition_of_the_table_alike() -> None:
    outcomes = [outcome(WRONG), outcome(MISSED)]
    result = measure_conditions(make_outcomes({NIGHT: outcomes, TURNS_DEG[30]: outcomes}))
    (night,) = (condition for condition in result.each if condition.name == "night")
    assert (night.std.read_rate, night.std.wrong_of_shown) == (0, 1)
    assert result.mean.name == "mean of 16"
    assert result.mean.std.read_rate == 15 / 16
    assert result.mean.std.wrong_of_shown == pytest.approx(1 / 31)


def test_scores_are_held_to_the_truth_under_each_condition_and_over_all() -> None:
    unsure = [outcome(NOT_SHOWN, 0.45), outcome(WRONG, 0.95)]
    result = measure_conditions(make_outcomes({NIGHT: unsure}))
    ece = {condition.name: condition.ece for condition in result.each}
    assert ece["as it is"] == pytest.approx(0.1)
    assert ece["night"] == pytest.approx((0.55 + 0.95) / 2)
    # 30 right at 0.9 and one wrong at 0.95 share a bin, one right at 0.45 has its own
    assert result.mean.ece == pytest.approx((abs(30 - 30 * 0.9 - 0.95) + 0.55) / 32)


def test_a_sweep_has_a_point_for_each_strength_in_order() -> None:
    result = measure_conditions(make_outcomes({SMEARS_PX[21]: [outcome(MISSED), outcome(READ)]}))
    assert [point.x for point in result.by_smear_px] == [0, 3, 6, 9, 12, 15, 21]
    assert [point.bin for point in result.by_turn_deg][:2] == ["-30", "-20"]
    last = result.by_smear_px[-1]
    assert (last.plates, last.read, last.rate) == (2, 1, 0.5)
    assert last.low < 0.5 < last.high


def test_widths_are_those_of_the_picture_as_it_is_times_the_factor() -> None:
    outcomes = [outcome(MISSED)]
    result = measure_conditions(
        make_outcomes({SIZES[0.2]: outcomes, SIZES[0.25]: outcomes}, plates=1)
    )
    points = {point.bin: point for point in result.by_width_px}
    assert {name: (point.x, point.plates, point.read) for name, point in points.items()} == {
        "20-25": (20, 1, 0),
        "25-30": (25, 1, 0),
        "30-35": (33, 1, 1),
        "40-50": (40, 1, 1),
        "50-60": (50, 1, 1),
        "60-80": (75, 1, 1),
        "100-130": (100, 1, 1),
    }


def test_a_plate_that_is_never_found_has_the_width_of_its_region() -> None:
    outcomes = make_outcomes({condition: [outcome(MISSED)] for condition in EVERY_CONDITION})
    points = measure_conditions(outcomes).by_width_px
    assert points[-1] == RatePoint("60-80", 60, 1, 0, 0, 0, points[-1].high)
    assert [point.x for point in points[:2]] == [12, 17.4]  # 15 and 19.8 share a bin


OURS = measure_conditions(
    make_outcomes(
        {CONDITIONS[1]: [outcome(WRONG), outcome(READ)], SMEARS_PX[3]: [outcome(MISSED)] * 2}
    )
)
THEIRS = measure_conditions(
    make_outcomes(
        {CONDITIONS[1]: [outcome(NOT_SHOWN), outcome(MISSED)], SIZES[0.2]: [outcome(MISSED)] * 2}
    )
)


def test_a_row_tells_what_became_of_the_plates() -> None:
    table = summarize_conditions(OURS)[0].splitlines()
    assert table[0].split("  ")[0] == "conditions, 2 standard plates in each"
    assert table[2].split("  ")[0] == "0.5 of the size"
    assert " ".join(table[2].split()[4:]) == "50.0 % 50.0 % 0.0 % 100.0 % 50.0 % 0.400"
    assert table[-1].startswith("mean of 16")
    assert len(table) == 18


def test_curves_are_told_point_by_point() -> None:
    *_, smears = summarize_conditions(OURS)
    assert [line.split() for line in smears.splitlines()[:3]] == [
        ["read", "by", "smear,", "px"],
        ["0", "2/2", "100.0", "%"],
        ["3", "0/2", "0.0", "%"],
    ]


def test_two_evaluations_stand_side_by_side() -> None:
    lines = compare_conditions({"ours": OURS, "theirs": THEIRS}).splitlines()
    assert lines[0] == (
        "|  | ours: read | ours: wrong of shown | ours: ECE "
        "| theirs: read | theirs: wrong of shown | theirs: ECE |"
    )
    assert lines[3] == "| 0.5 of the size | 50.0 % | 50.0 % | 0.400 | 0.0 % | - | 0.100 |"
    assert len(lines) == 2 + 17


def test_curves_stand_side_by_side_by_bin() -> None:
    widths, turns, smears = compare_curves({"ours": OURS, "theirs": THEIRS}).split("\n\n")
    assert widths.splitlines()[0].startswith("| width of the plate, px | 20-25 | 25-30 |")
    assert widths.splitlines()[2].startswith("| ours | 100.0 % | 100.0 % |")
    assert widths.splitlines()[3].startswith("| theirs | 0.0 % | 100.0 % |")
    assert turns.splitlines()[0].startswith("| turn, degrees | -30 | -20 |")
    assert smears.splitlines()[2].startswith("| ours | 100.0 % | 0.0 % |")
