"""Compositions are compared only where they answer alike."""

import numpy as np
import pytest

from benchmarks.compositions.answers import differ

ANSWER = {
    "coordinates": np.array([[1, 2, 3, 4]], np.float32),
    "texts": np.array([[b"A001AA77"]], np.object_),
    "text_scores": np.array([[0.9]], np.float32),
    "detection_scores": np.array([[0.8]], np.float32),
}


def test_equal_answers_do_not_differ() -> None:
    assert differ(ANSWER, {name: array.copy() for name, array in ANSWER.items()}) == ""


@pytest.mark.parametrize(
    ("output", "array"),
    [
        pytest.param("texts", np.array([[b"A001AA78"]], np.object_), id="another text"),
        pytest.param("coordinates", np.array([[1, 2, 3, 4.1]], np.float32), id="another box"),
        pytest.param("text_scores", np.empty((0, 1), np.float32), id="fewer plates"),
    ],
)
def test_a_different_output_is_named(output: str, array: np.ndarray) -> None:
    assert differ(ANSWER, ANSWER | {output: array}).startswith(f"{output}: wanted")
