import pytest

from workshop.evaluation.reading import (
    Confusion,
    LetterCount,
    align,
    character_error_rate,
    count_confusions,
    count_letters,
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


@pytest.mark.parametrize(
    ("wanted", "read", "pairs"),
    [
        pytest.param("A1B", "A7B", [("A", "A"), ("1", "7"), ("B", "B")], id="one length"),
        pytest.param("A12", "A2", [("A", "A"), ("1", ""), ("2", "2")], id="one left out"),
        pytest.param("A2", "A12", [("A", "A"), ("", "1"), ("2", "2")], id="one added"),
        pytest.param("A1", "", [("A", ""), ("1", "")], id="nothing read"),
    ],
)
def test_texts_are_aligned(wanted: str, read: str, pairs: list[tuple[str, str]]) -> None:
    assert align(wanted, read) == pairs


def test_the_character_error_rate_weighs_characters_not_texts() -> None:
    # 1 edit of 8 characters and 2 of 2: 3 / 10, where the mean over texts would be 0.5625
    assert character_error_rate([("A001AA77", "A001AA78"), ("A1", "")]) == pytest.approx(0.3)


def test_nothing_has_no_character_error_rate() -> None:
    assert character_error_rate([]) is None


def test_confusions_come_most_frequent_first() -> None:
    pairs = [("M1", "H1"), ("M2", "H2"), ("77", "7"), ("B", "B"), ("A", "AX")]
    counted = count_confusions(pairs)
    assert counted == [Confusion("M", "H", 2), Confusion("", "X", 1), Confusion("7", "", 1)]


def test_no_plates_have_no_letters() -> None:
    assert count_letters([], []) == ()


def test_letters_are_counted_by_place_right_or_wrong() -> None:
    counts = count_letters([("X1A", "Y1A"), ("X2B", "X2B")], [True, False])
    assert counts == (
        LetterCount(1, "X", "X", 1, 0),
        LetterCount(1, "X", "Y", 1, 1),
        LetterCount(3, "A", "A", 1, 1),
        LetterCount(3, "B", "B", 1, 0),
    )


def test_places_of_letters_are_those_of_the_true_text() -> None:
    # "A12B" read with a digit more, and a text without its first letter
    counts = count_letters([("A12B", "A312B"), ("X1", "1")], [True, True])
    assert counts == (
        LetterCount(1, "A", "A", 1, 1),
        LetterCount(1, "X", "", 1, 1),
        LetterCount(4, "B", "B", 1, 1),
    )
