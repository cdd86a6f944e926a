"""Decoding of any logits: texts within the formats, scores in [0, 1], or a ModelError."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from orchestrator.errors import ModelError
from orchestrator.formats.layouts import MAX_LENGTH
from orchestrator.formats.plate_formats import Formats, PlateFormat, Region, russian
from orchestrator.reading.ctc import best_paths, collapse, decode, softmax
from orchestrator.reading.grammar import Grammar
from tests.fuzzing.profiles import quick

SMALL = Formats(
    "01AB",
    (PlateFormat("one", ("LDR", "D", "LLLLLLLLL")), PlateFormat("two", ("L/RR",))),
    (Region("here", ("0", "01")),),
    unknown_region_nats=2.0,
)
COUNTRIES = {"small": SMALL, "russian": russian()}
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
MODEST = st.floats(-30, 30, width=32)


def logits_of(classes: int, numbers: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    shapes = st.tuples(st.integers(0, 3), st.just(classes), st.integers(0, 12))
    return arrays.arrays(np.float32, shapes, elements=numbers)


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("numbers", [FINITE, MODEST], ids=["any size", "modest"])
def test_any_finite_logits_become_texts_of_the_formats(numbers, country: str, lines: int) -> None:
    formats = COUNTRIES[country]

    @quick
    @given(logits_of(formats.classes, numbers), st.floats(0.01, 100))
    def check(logits: np.ndarray, temperature: float) -> None:
        readings = decode(logits, Grammar.of(formats, lines), temperature=temperature)
        assert len(readings) == len(logits)
        for reading in readings:
            texts = [text for text, _ in reading.candidates]
            scores = [score for _, score in reading.candidates]
            assert all(formats.format_of(text, lines) for text in texts)
            assert len(set(texts)) == len(texts)
            assert scores == sorted(scores, reverse=True)
            assert 0 <= math.fsum(scores) <= 1 + 1e-9

    check()


@quick
@given(logits_of(5, FINITE))
def test_scores_of_characters_are_probabilities(logits: np.ndarray) -> None:
    readings = decode(logits, Grammar.free("01AB"))
    assert all(len(reading.raw_text) == len(reading.character_scores) for reading in readings)
    assert all(0 <= score <= 1 for reading in readings for score in reading.character_scores)
    assert all(len(text) <= MAX_LENGTH for reading in readings for text, _ in reading.candidates)


@quick
@given(logits_of(5, FINITE))
def test_probabilities_of_a_step_sum_to_one(logits: np.ndarray) -> None:
    np.testing.assert_allclose(softmax(logits.astype(np.float64)).sum(axis=1), 1, rtol=1e-9)


@quick
@given(st.integers(0, 4), st.integers(0, 11), st.sampled_from([math.nan, math.inf, -math.inf]))
def test_one_number_that_is_none_is_the_readers_failure(row: int, step: int, wrong: float) -> None:
    logits = np.zeros((2, 5, 12), np.float32)
    logits[1, row, step] = wrong
    with pytest.raises(ModelError, match="wanted finite numbers"):
        decode(logits, Grammar.free("01AB"))


@quick
@given(st.text("01AB", max_size=MAX_LENGTH))
def test_a_text_spelled_out_is_read(text: str) -> None:
    steps = [place for char in text for place in ("01AB".index(char), 4)]
    logits = np.full((1, 5, 2 * MAX_LENGTH), -50, np.float32)
    logits[0, [*steps, *[4] * (2 * MAX_LENGTH - len(steps))], range(2 * MAX_LENGTH)] = 50
    (reading,) = decode(logits, Grammar.free("01AB"))
    assert reading.raw_text == text
    assert reading.candidates[0] == (text, pytest.approx(1))


@quick
@given(st.lists(st.integers(0, 4), max_size=20))
def test_the_best_path_is_the_collapsed_one(classes: list[int]) -> None:
    lattices = np.eye(5)[np.array([classes], int)]
    ((text, scores),) = best_paths(lattices, "01AB")
    assert text == "".join("01AB"[number] for number in collapse(classes, 4))
    assert set(scores) <= {1.0}
