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
