import dataclasses

import pytest
from pydantic import ValidationError

from orchestrator import plates
from orchestrator.contract import STAGES
from orchestrator.serving.gateway.http.schemas import (
    Plate,
    Reading,
    Seconds,
)
from tests.serving.gateway.http.rest_fakes import (
    PLATE,
)


def test_fields_are_those_of_a_plate_and_of_the_model() -> None:
    of_a_plate = {field.name for field in dataclasses.fields(plates.Plate)}
    assert set(Plate.model_fields) == of_a_plate - {"country"} | {"text_native"}
    missing = set(Plate.model_fields) - set(Reading.model_fields)
    assert missing == {"xyxy", "detection_score", "corners"}
    assert tuple(Seconds.model_fields) == STAGES


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"text_score": 1.01}, id="over 1"),
        pytest.param({"text_score": float("nan")}, id="no number"),
        pytest.param({"text_score": "0.5"}, id="text for a number"),
        pytest.param({"character_scores": (1.0,) * 10}, id="too many characters"),
        pytest.param({"candidates": ({"text": "A", "score": 1.0},) * 6}, id="too many candidates"),
        pytest.param({"colour": "white"}, id="unknown"),
        pytest.param({"xyxy": (1.0, 2.0, 3.0)}, id="three sides"),
        pytest.param({"xyxy": (1.0, 2.0, 3.0, float("inf"))}, id="no end"),
        pytest.param({"corners": ((1.0, 2.0),) * 3}, id="three corners"),
    ],
)
def test_a_plate_takes_nothing_else(changes: dict) -> None:
    values = Plate(**Plate.fields_of(vars(PLATE))).model_dump()
    Plate(**values)
    with pytest.raises(ValidationError):
        Plate(**values | changes)
