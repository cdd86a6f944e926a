from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import DataError
from orchestrator.plates import Plate, Plates
from workshop.evaluation.datasets import LabelledPlate, Scene
from workshop.evaluation.measurement import measure_reading
from workshop.evaluation.outcomes import Outcome, judge, open_picture
from workshop.evaluation.reading import Confusion
from workshop.evaluation.results import Decoding, HitRate

PICTURE = Path("a.jpg")
REGION = (0.0, 0.0, 100.0, 40.0)
INSIDE, OUTSIDE = (10.0, 10.0, 90.0, 30.0), (200.0, 10.0, 280.0, 30.0)


def label(text: str = "A001AA77", kind: str = "std") -> LabelledPlate:
    return LabelledPlate(text, kind, REGION)


def plate(text: str, score: float, *, is_shown: bool = True, xyxy=INSIDE, **others) -> Plate:
    return Plate(
        xyxy, 0.9, text if is_shown else "", score, text, candidates=((text, score),), **others
    )


def verdict(*plates: Plate) -> str:
    (outcome,) = judge(Scene(PICTURE, (label(),)), Plates(plates))
    return outcome.verdict


@pytest.mark.parametrize(
    ("plates", "expected_verdict"),
    [
        pytest.param((), "missed", id="nothing found"),
        pytest.param((plate("A001AA77", 0.9, xyxy=OUTSIDE),), "missed", id="found elsewhere"),
        pytest.param((plate("A001AA77", 0.9),), "read", id="read"),
        pytest.param((plate("A001AA71", 0.9),), "wrong", id="wrong"),
        pytest.param((plate("A001AA77", 0.1, is_shown=False),), "not shown", id="unsure"),
        pytest.param(
            (plate("A001AA71", 0.9), plate("A001AA77", 0.8)), "read", id="any right answer counts"
        ),
    ],
)
def test_verdicts(plates: tuple[Plate, ...], expected_verdict: str) -> None:
    assert verdict(*plates) == expected_verdict


def test_of_two_wrong_answers_the_better_detection_counts() -> None:
    plates = Plates((plate("A001AA71", 0.5), plate("A001AA72", 0.8)))
    (outcome,) = judge(Scene(PICTURE, (label(),)), plates)
    assert outcome.best == "A001AA71"


def test_tilt_is_the_slope_of_the_horizontal_edges() -> None:
    corners = ((0.0, 0.0), (100.0, 100.0), (100.0, 120.0), (0.0, 20.0))
    assert Outcome(PICTURE, label(), plate("", 0, corners=corners)).tilt_deg == pytest.approx(45)


def test_figures_of_a_case_by_hand() -> None:
    outcomes = [
        Outcome(PICTURE, label(), plate("A001AA77", 0.95)),
        Outcome(PICTURE, label(), plate("A001AA7", 0.85)),
        Outcome(PICTURE, label(), plate("A001AA77", 0.15, is_shown=False)),
        Outcome(PICTURE, label()),
        Outcome(PICTURE, label("AB12377", "other"), plate("AB12377", 0.9)),
        Outcome(PICTURE, label("A", "bad"), plate("B001AA77", 0.9)),
    ]
    result = measure_reading(outcomes)
    assert result.labels == {"std": 4, "other": 1, "bad": 1}
    std = result.std
    assert (std.found, std.read, std.wrong, std.not_shown, std.missed) == (3, 1, 1, 1, 1)
    assert std.read_rate == 0.25
    assert std.wrong_of_shown == 0.5
    assert result.other.read == 1
    assert result.characters.error_rate == pytest.approx(1 / 24)
    assert result.characters.too_short == 1
    assert result.characters.confusions == (Confusion("7", "", 1),)
    assert result.decoding == Decoding(best_path=2, format_beam=2)
    assert result.coverage.coverage == pytest.approx(2 / 3)
    assert result.coverage.error == 0.5
    assert result.coverage.at_precision.coverage == pytest.approx(1 / 3)
    assert result.calibration.ece == pytest.approx((0.05 + 0.85 + 0.85) / 3)
    assert {row.bin: row.plates for row in result.by_width_px}["80-120"] == 3


def test_a_reading_without_a_format_is_never_right() -> None:
    outcome = Outcome(PICTURE, label(), Plate(INSIDE, 0.9, raw_text="A1"))
    assert (outcome.verdict, outcome.best, outcome.score) == ("not shown", "", 0.0)


def test_an_unreadable_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("no picture")
    with pytest.raises(DataError, match=r"a.jpg: wanted a readable picture, got .*10 bytes"):
        open_picture(tmp_path / "a.jpg")


def test_plates_are_counted_by_their_format_whether_they_were_found_or_not() -> None:
    car, taxi = (replace(label("A001AA77"), format=name) for name in ("car", "taxi"))
    bad = replace(label("A001AA77", "bad"), format="car")
    outcomes = [
        Outcome(PICTURE, car, plate("A001AA77", 0.95)),
        Outcome(PICTURE, taxi, plate("B001AA77", 0.9)),
        Outcome(PICTURE, car),
        Outcome(PICTURE, bad),
        Outcome(PICTURE, label()),
    ]
    by_format = measure_reading(outcomes).by_format
    assert by_format == (HitRate("car", 2, 1, 0.5), HitRate("taxi", 1, 0, 0.0))
