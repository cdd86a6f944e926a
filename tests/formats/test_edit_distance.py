import pytest

from orchestrator.formats.edit_distance import edit_costs, edit_distance


@pytest.mark.parametrize(
    ("wanted", "read", "edits"),
    [
        pytest.param("", "", 0, id="nothing"),
        pytest.param("A1", "", 2, id="all left out"),
        pytest.param("", "A1", 2, id="all added"),
        pytest.param("A001AA77", "A001AA777", 1, id="one added"),
        pytest.param("A001AA777", "A01AA777", 1, id="one left out"),
        pytest.param("P090HM102", "B090MH102", 3, id="three replaced"),
        pytest.param("12345", "23451", 2, id="moved round"),
    ],
)
def test_the_fewest_edits_are_counted_both_ways(wanted: str, read: str, edits: int) -> None:
    assert edit_distance(wanted, read) == edit_distance(read, wanted) == edits


def test_costs_are_those_of_all_prefixes() -> None:
    assert edit_costs("AB", "BA1") == [[0, 1, 2, 3], [1, 1, 1, 2], [2, 1, 2, 2]]
