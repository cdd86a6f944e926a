import pytest

from workshop.evaluation.reading import (
    Confusion,
    align,
    character_error_rate,
    count_confusions,
    edit_distance,
)


@pytest.mark.parametrize(
    ("wanted", "read", "edits"),
    [
        ("", "", 0),
        ("A001AA77", "A001AA77", 0),
        ("A001AA77", "", 8),
        ("", "A0", 2),
        ("A001AA77", "A001AA777", 1),
        ("Y777YY777", "Y777YY77", 1),
        ("P090HM102", "B090MH102", 3),
    ],
)
def test_edit_distance_counts_the_fewest_edits(wanted: str, read: str, edits: int) -> None:
    assert edit_distance(wanted, read) == edits


def test_texts_of_one_length_are_aligned_place_by_place() -> None:
    assert align("A1B", "A7B") == [("A", "A"), ("1", "7"), ("B", "B")]


def test_a_character_left_out_has_nothing_beside_it() -> None:
    assert align("A12", "A2") == [("A", "A"), ("1", ""), ("2", "2")]


def test_a_character_added_has_nothing_beside_it() -> None:
    assert align("A2", "A12") == [("A", "A"), ("", "1"), ("2", "2")]


def test_a_text_that_was_not_read_was_left_out() -> None:
    assert align("A1", "") == [("A", ""), ("1", "")]


def test_the_character_error_rate_weighs_characters_not_texts() -> None:
    # 1 edit of 8 characters and 2 of 2: 3 / 10, where the mean over texts would be 0.5625
    assert character_error_rate([("A001AA77", "A001AA78"), ("A1", "")]) == pytest.approx(0.3)


def test_nothing_has_no_character_error_rate() -> None:
    assert character_error_rate([]) is None


def test_confusions_come_most_frequent_first() -> None:
    pairs = [("M1", "H1"), ("M2", "H2"), ("77", "7"), ("B", "B"), ("A", "AX")]
    counted = count_confusions(pairs)
    assert counted == [Confusion("M", "H", 2), Confusion("", "X", 1), Confusion("7", "", 1)]
