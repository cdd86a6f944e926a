from tests.workshop.evaluation.judged import judged, outcome
from workshop.evaluation.conditions.camera_conditions import CONDITIONS, SIZES, SMEARS_PX
from workshop.evaluation.conditions.condition_measurement import (
    compare_conditions,
    compare_curves,
    measure_conditions,
    summarize_conditions,
    tabulate_letters,
)
from workshop.evaluation.outcomes import MISSED, NOT_SHOWN, READ, WRONG
from workshop.evaluation.reading import LetterCount
from workshop.reporting.tables import format_table

OURS = measure_conditions(
    judged({CONDITIONS[1]: [outcome(WRONG), outcome(READ)], SMEARS_PX[3]: [outcome(MISSED)] * 2})
)
THEIRS = measure_conditions(
    judged(
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


def test_the_table_of_letters_has_a_row_for_each_true_letter() -> None:
    letters = (
        LetterCount(1, "X", "X", 3, 2),
        LetterCount(1, "X", "Y", 2, 1),
        LetterCount(1, "Y", "", 1, 0),
        LetterCount(5, "B", "E", 9, 9),
    )
    header = ("letter 1 read as", "none", "X", "Y", "sure and wrong")
    rows = [("X", "", 3, 2, 1), ("Y", 1, "", "", 0)]
    assert tabulate_letters(letters) == format_table(header, rows)
