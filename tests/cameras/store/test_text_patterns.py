"""Pieces of texts for the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cameras.store.text_patterns import find_runs, find_short_runs, split_for_edits

ALPHABET = "0123456789ABEKMHOPCTYX"


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        pytest.param("*", [], id="any text"),
        pytest.param("A*", [], id="too short"),
        pytest.param("A1*", ["^A1"], id="prefix"),
        pytest.param("*77", ["77$"], id="end"),
        pytest.param("A1?BC7*9", ["^A1", "BC7"], id="middle"),
        pytest.param("A12", ["^A12$"], id="whole"),
    ],
)
def test_runs_between_wildcards_are_found(pattern: str, runs: list[str]) -> None:
    assert find_runs(pattern) == runs


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        pytest.param("*", [], id="any text"),
        pytest.param("*7*", ["7"], id="one character"),
        pytest.param("A?7*BC*", ["BC", "7", "A"], id="the longest first"),
        pytest.param("*ABC*", [], id="long enough for a trigram"),
    ],
)
def test_runs_that_are_too_short_for_a_trigram_are_found(pattern: str, runs: list[str]) -> None:
    assert find_short_runs(pattern) == runs


@pytest.mark.parametrize(
    ("text", "edits", "pieces"),
    [
        pytest.param("A123BC77", 1, ["^A12", "3BC77$"], id="one edit"),
        pytest.param("A123477", 2, ["^A1", "234", "77$"], id="shortest for two"),
    ],
)
def test_a_text_is_cut_into_rare_pieces(text: str, edits: int, pieces: list[str]) -> None:
    cut = split_for_edits(text, edits)

    assert "".join(cut) == f"^{text}$"
    assert len(cut) == len(pieces)
    assert min(map(len, cut)) >= 3


@given(
    st.text(ALPHABET, min_size=7, max_size=9),
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["", *ALPHABET, "AB"])), max_size=2),
)
def test_a_similar_text_has_a_piece_unchanged(text: str, edits: list[tuple[int, str]]) -> None:
    similar = [*text]
    for at, char in edits:
        similar[at % len(text)] = char if len(char) < 2 else similar[at % len(text)] + "0"

    wrapped = f"^{''.join(similar)}$"
    assert any(piece in wrapped for piece in split_for_edits(text, 2))
