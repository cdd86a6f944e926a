"""What the comparison of the forms makes of its samples and answers."""

import numpy as np
import pytest

from benchmarks.calls import difference
from benchmarks.forms import Cell, Sample, figures, text_of

ANSWER = {
    "coordinates": np.array([[1, 2, 3, 4]], np.float32),
    "texts": np.array([[b"A001AA77"]], np.object_),
    "text_scores": np.array([[0.9]], np.float32),
    "detection_scores": np.array([[0.8]], np.float32),
}


def test_equal_answers_do_not_differ() -> None:
    assert difference(ANSWER, {name: array.copy() for name, array in ANSWER.items()}) == ""


@pytest.mark.parametrize(
    ("output", "array"),
    [
        pytest.param("texts", np.array([[b"A001AA78"]], np.object_), id="another text"),
        pytest.param("coordinates", np.array([[1, 2, 3, 4.1]], np.float32), id="another box"),
        pytest.param("text_scores", np.empty((0, 1), np.float32), id="fewer plates"),
    ],
)
def test_a_different_output_is_named(output: str, array: np.ndarray) -> None:
    assert difference(ANSWER, ANSWER | {output: array}).startswith(f"{output}: wanted")


def test_a_rival_is_compared_with_the_bls_model_round_by_round() -> None:
    rounds = {
        Cell("bls", 1, 4): [Sample(10.0, (100.0,), 50.0), Sample(20.0, (50.0,), 50.0)],
        Cell("monolith", 1, 4): [Sample(5.0, (200.0,), 100.0), Sample(10.0, (100.0,), 100.0)],
    }
    bls, monolith = figures(rounds)
    assert bls["to_bls"] == {"throughput": 1.0, "p50": 1.0, "cpu": 1.0}
    assert monolith["to_bls"] == {"throughput": 0.5, "p50": 2.0, "cpu": 2.0}
    assert monolith["throughput"] == 7.5
    assert "monolith" in text_of([bls, monolith], {})
