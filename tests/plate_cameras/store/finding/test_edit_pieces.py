"""Pieces of texts for the index: every similar text has at least one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plate_cameras.store.finding.edit_pieces import EditPieces, split_for_edits
from plate_cameras.store.finding.text_patterns import find_runs, find_short_runs

ALPHABET = "0123456789ABEKMHOPCTYX"


@pytest.mark.parametrize(
    ("text", "edits", "pieces"),
    [
        pytest.param("A123BC77", 1, EditPieces(("^A12", "3BC77$")), id="one edit"),
        pytest.param("A123BC50", 2, EditPieces(("^A1", "23B", "C50$")), id="two edits"),
        pytest.param(
            "AM81697",
            2,
            EditPieces(("^AM", "816", "97$"), 2, ("697$", "81")),
            id="frequent region: 8 and 6 with M edited, 6 with another digit edited",
        ),
        pytest.param("AB77", 1, EditPieces(("^AB", "77$"), 1, ("B77$", "^A")), id="shortest"),
    ],
)
def test_a_text_is_cut_into_rare_pieces(text: str, edits: int, pieces: EditPieces) -> None:
    assert split_for_edits(text, edits) == pieces


def damage(text: str, edits: list[tuple[int, str]]) -> str:
    """Return a text with its end marks, with characters removed, replaced or added."""
    chars = [*text]
    for at, char in edits:
        place = at % len(text)
        chars[place] = char if len(char) < 2 else chars[place] + char[1:]
    return f"^{''.join(chars)}$"


@given(
    st.text(ALPHABET, min_size=5, max_size=7),
    st.sampled_from(["77", "199", "0", "B", ""]),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", *ALPHABET, "+A"])), max_size=2),
)
def test_a_similar_text_has_a_piece_unchanged(
    start: str, end: str, edits: list[tuple[int, str]]
) -> None:
    text = f"{start}{end}".ljust(7, "A")
    pieces = split_for_edits(text, 2)
    assert "".join(pieces.pieces) == f"^{text}$"
    assert min(map(len, pieces.pieces)) >= 3
    similar = damage(text, edits)

    unchanged_places = [at for at, piece in enumerate(pieces.pieces) if piece in similar]
    companions = [companion for companion in pieces.companions if companion in similar]
    assert unchanged_places
    assert unchanged_places != [pieces.frequent] or companions or not pieces.companions


@pytest.mark.parametrize(
    ("pattern", "runs", "short_runs"),
    [
        pytest.param("*", [], [], id="any text"),
        pytest.param("A*", [], ["A"], id="too short"),
        pytest.param("A1*", ["^A1"], ["A1"], id="prefix"),
        pytest.param("*77", ["77$"], ["77"], id="end"),
        pytest.param("A1?BC7*9", ["^A1", "BC7"], ["A1", "9"], id="middle"),
        pytest.param("A12", ["^A12$"], [], id="whole"),
        pytest.param("A?7*BC*", [], ["BC", "7", "A"], id="the longest short one first"),
    ],
)
def test_runs_between_wildcards_are_found(
    pattern: str, runs: list[str], short_runs: list[str]
) -> None:
    assert find_runs(pattern) == runs
    assert find_short_runs(pattern) == short_runs
