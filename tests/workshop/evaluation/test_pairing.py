"""Two evaluations of the same plates, compared."""

from dataclasses import replace

import pytest

from orchestrator.settings import Settings
from workshop.evaluation.measurement import measure_reading
from workshop.evaluation.pairing import mcnemar_exact, pair, write_paired_test
from workshop.evaluation.results import DataSets, PlateVerdict, Report

REGION = (0.0, 0.0, 9.0, 9.0)


def plate(image: str, verdict: str = "read", *, type: str = "std", region=REGION) -> PlateVerdict:
    return PlateVerdict(image, type, region, "A123BC77", verdict, "A123BC77")


@pytest.mark.parametrize(
    ("won", "lost", "p_value"),
    [
        pytest.param(0, 0, 1.0, id="nothing changed"),
        pytest.param(1, 0, 1.0, id="one plate: 2 / 2"),
        pytest.param(5, 0, 0.0625, id="2 / 32"),
        pytest.param(0, 5, 0.0625, id="two-sided"),
        pytest.param(6, 0, 0.03125, id="2 / 64"),
        pytest.param(8, 1, 0.0390625, id="2 * (1 + 9) / 512"),
        pytest.param(3, 2, 1.0, id="2 * (1 + 5 + 10) / 32"),
        pytest.param(2, 2, 1.0, id="2 * (1 + 4 + 6) / 16 is more than all"),
    ],
)
def test_mcnemar_of_cases_by_hand(won: int, lost: int, p_value: float) -> None:
    assert mcnemar_exact(won, lost) == p_value


def test_plates_that_only_one_reads_are_won_and_lost() -> None:
    new = [plate("a"), plate("b", "wrong"), plate("c"), plate("d", "missed")]
    old = [plate("a", "not shown"), plate("b"), plate("c"), plate("d", "wrong")]
    (test,) = pair(new, old).tests
    assert (test.type, test.plates, test.p_value) == ("std", 4, 1.0)
    assert [change.new.image for change in test.won] == ["a"]
    assert [change.old.verdict for change in test.won] == ["not shown"]
    assert [change.new.image for change in test.lost] == ["b"]


def test_each_type_has_a_test_of_its_own_and_unreadable_plates_none() -> None:
    new = [plate("a"), plate("b", type="other"), plate("c", type="bad")]
    old = [plate("a"), plate("b", "wrong", type="other"), plate("c", "wrong", type="bad")]
    tests = {test.type: (len(test.won), len(test.lost)) for test in pair(new, old).tests}
    assert tests == {"std": (0, 0), "other": (1, 0)}


def test_a_plate_is_the_same_by_picture_region_and_text() -> None:
    elsewhere = (20.0, 0.0, 29.0, 9.0)
    new = [plate("a"), plate("a", "wrong", region=elsewhere), plate("b")]
    old = [plate("a"), plate("a", region=elsewhere), plate("c"), plate("d")]
    pairing = pair(new, old)
    assert (pairing.only_new, pairing.only_old) == (1, 2)
    assert [(test.plates, len(test.lost)) for test in pairing.tests] == [(2, 1)]


NO_READING = Report("?", "in process", {}, Settings(), {}, DataSets("", "", "", None), 0.0)


def verdict_of(image: str, verdict: str, text: str) -> PlateVerdict:
    return PlateVerdict(image, "std", (0.0, 0.0, 9.0, 9.0), "A123BC77", verdict, text)


def report(name: str, *verdicts: PlateVerdict) -> Report:
    reading = replace(measure_reading([]), verdicts=verdicts)
    return replace(NO_READING, name=name, reading=reading)


def test_changed_plates_are_named_with_both_readings() -> None:
    new = report("new", verdict_of("a.jpg", "read", "A123BC77"), verdict_of("b.jpg", "missed", ""))
    old = report(
        "old", verdict_of("a.jpg", "wrong", "A123BC7"), verdict_of("b.jpg", "read", "A123BC77")
    )
    assert write_paired_test(new, old) == (
        "new against old: 2 std plates, won 1, lost 1: p = 1, may be chance.\n"
        "\n"
        "|  | picture | wanted | new | old |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| won | a.jpg | A123BC77 | A123BC77 (read) | A123BC7 (wrong) |\n"
        "| lost | b.jpg | A123BC77 | (missed) | A123BC77 (read) |\n"
    )


def test_other_data_is_told_of() -> None:
    new = report("new", verdict_of("a.jpg", "read", "A123BC77"), verdict_of("b.jpg", "missed", ""))
    old = report("old", verdict_of("a.jpg", "read", "A123BC77"))
    assert write_paired_test(new, old) == (
        "new against old: the two were measured on other data, left out are 1 plates of new alone "
        "and 0 of old alone. 1 std plates, won 0, lost 0: the same plates are read.\n"
    )


def test_nothing_in_common_is_told_of() -> None:
    new, old = (
        report("new", verdict_of("a.jpg", "read", "")),
        report("old", verdict_of("b.jpg", "read", "")),
    )
    paired_test = write_paired_test(new, old)
    assert paired_test.endswith("the two were measured on other data, and no plate is in both.\n")


def test_a_report_of_detection_alone_has_no_paired_test() -> None:
    paired_test = write_paired_test(NO_READING, report("old"))
    assert paired_test == "? against old: no paired test, for one of the two holds no readings.\n"
