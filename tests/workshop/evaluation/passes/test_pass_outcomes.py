from dataclasses import replace

import pytest

from plate_cameras.passes import PassEvent
from tests.plate_cameras.passing import follow, new_tracker, plate
from workshop.evaluation.passes.pass_outcomes import (
    ClipOutcome,
    bin_texts,
    judge_clip,
    outcome_table,
    speed_table,
)
from workshop.evaluation.reading import expected_calibration_error
from workshop.rendering.road.clips import Truth, TruthBox, TruthPass

TEXT, OTHER = "A123BC77", "M456OP199"


def truth_of(text: str, y: float = 100) -> TruthPass:
    """Return a vehicle that drives to the right for two seconds, at two frames a second."""
    boxes = tuple(
        TruthBox(
            number,
            number / 2,
            (50 + 150 * number, y - 10, 150 + 150 * number, y + 10),
            readable=True,
        )
        for number in range(5)
    )
    return TruthPass(text, 0.0, 2.0, boxes)


def events(text: str, y: float = 100) -> list[PassEvent]:
    return follow(
        new_tracker(), [(number / 2, [plate((100 + 150 * number, y), text)]) for number in range(5)]
    )


def judge(events: list[PassEvent], *passes: TruthPass) -> ClipOutcome:
    return judge_clip(Truth("crossing", "day", 2.0, (1000, 500), passes), events)


def test_a_pass_that_was_read_is_found_and_exact() -> None:
    outcome = judge(events(TEXT), truth_of(TEXT))
    assert (outcome.counted, outcome.found, outcome.exact, outcome.spurious) == (1, 1, 1, 0)
    assert outcome.agreed_after_s == (0.5,)


def test_another_text_is_found_and_not_exact() -> None:
    outcome = judge(events(OTHER), truth_of(TEXT))
    assert (outcome.found, outcome.exact) == (1, 0)


def test_a_pass_of_no_vehicle_is_spurious() -> None:
    outcome = judge(events(TEXT, 400), truth_of(TEXT))
    assert (outcome.found, outcome.spurious) == (0, 1)


def test_two_passes_of_a_vehicle_are_split() -> None:
    outcome = judge([*events(TEXT), *events(TEXT)], truth_of(TEXT))
    assert (outcome.found, outcome.split, outcome.spurious) == (1, 1, 1)


def test_the_calibration_error_of_certain_texts_is_the_share_of_wrong_ones() -> None:
    bins = bin_texts([(1.0, True), (1.0, False)])
    assert expected_calibration_error(bins) == pytest.approx(0.5)
    assert (bins[0].low, bins[0].high) == (0.99, 1.0)
    assert bin_texts([]) == []


def test_a_table_has_a_row_for_each_condition() -> None:
    table = outcome_table([judge(events(TEXT), truth_of(TEXT))])
    assert table.splitlines()[1].split()[:4] == ["day", "1", "100.0", "%"]


def test_speeds_of_moving_vehicles_are_compared_with_the_truth() -> None:
    outcome = judge(events(TEXT), replace(truth_of(TEXT), speed_kmh=40.0))
    assert outcome.speeds == ((40.0, None, None),)
    measured_outcome = replace(
        outcome, speeds=((40.0, 44.0, 3.0), (40.0, 38.0, 3.0), (40.0, None, None))
    )
    (row,) = speed_table([measured_outcome]).splitlines()[1:]
    assert " ".join(row.split()) == "crossing 3 2 7.5 % 10.0 % 10.0 % 50.0 %"
    assert judge(events(TEXT), replace(truth_of(TEXT), speed_kmh=0.0)).speeds == ()
