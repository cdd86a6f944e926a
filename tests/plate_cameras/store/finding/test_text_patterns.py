"""Pieces of texts for the index."""

import pytest

from plate_cameras.store.finding.text_patterns import find_runs, find_short_runs


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
