from dataclasses import replace

from orchestrator.settings import Settings
from workshop.evaluation.measurement import measure_reading
from workshop.evaluation.pairing import write_paired_test
from workshop.evaluation.results import DataSets, PlateVerdict, Report

NO_READING = Report("?", "in process", {}, Settings(), {}, DataSets("", "", "", None), 0.0)


def plate(image: str, verdict: str, text: str) -> PlateVerdict:
    return PlateVerdict(image, "std", (0.0, 0.0, 9.0, 9.0), "A123BC77", verdict, text)


def report(name: str, *verdicts: PlateVerdict) -> Report:
    reading = replace(measure_reading([]), verdicts=verdicts)
    return replace(NO_READING, name=name, reading=reading)


def test_changed_plates_are_named_with_both_readings() -> None:
    new = report("new", plate("a.jpg", "read", "A123BC77"), plate("b.jpg", "missed", ""))
    old = report("old", plate("a.jpg", "wrong", "A123BC7"), plate("b.jpg", "read", "A123BC77"))
    assert write_paired_test(new, old) == (
        "new against old: 2 std plates, won 1, lost 1: p = 1, may be chance.\n"
        "\n"
        "|  | picture | wanted | new | old |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| won | a.jpg | A123BC77 | A123BC77 (read) | A123BC7 (wrong) |\n"
        "| lost | b.jpg | A123BC77 | (missed) | A123BC77 (read) |\n"
    )


def test_other_data_is_told_of() -> None:
    new = report("new", plate("a.jpg", "read", "A123BC77"), plate("b.jpg", "missed", ""))
    old = report("old", plate("a.jpg", "read", "A123BC77"))
    assert write_paired_test(new, old) == (
        "new against old: the two were measured on other data, left out are 1 plates of new alone "
        "and 0 of old alone. 1 std plates, won 0, lost 0: the same plates are read.\n"
    )


def test_nothing_in_common_is_told_of() -> None:
    new, old = report("new", plate("a.jpg", "read", "")), report("old", plate("b.jpg", "read", ""))
    paired_test = write_paired_test(new, old)
    assert paired_test.endswith("the two were measured on other data, and no plate is in both.\n")


def test_a_report_of_detection_alone_has_no_paired_test() -> None:
    paired_test = write_paired_test(NO_READING, report("old"))
    assert paired_test == "? against old: no paired test, for one of the two holds no readings.\n"
