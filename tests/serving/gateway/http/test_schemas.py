"""The fields of answers, and the values that they take."""

import dataclasses

import pytest
from pydantic import ValidationError

from orchestrator import plates
from orchestrator.contract import STAGES
from orchestrator.serving.gateway.http.schemas import Plate, Reading, Seconds
from tests.serving.gateway.http.rest_fakes import PLATE


def test_fields_are_those_of_a_plate_and_of_the_model() -> None:
    of_a_plate = {field.name for field in dataclasses.fields(plates.Plate)}
    assert set(Plate.model_fields) == of_a_plate | {"text_native"}
    missing = set(Plate.model_fields) - set(Reading.model_fields)
    assert missing == {"xyxy", "detection_score", "corners"}
    assert tuple(Seconds.model_fields) == STAGES


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text_score", 1.01),
        ("text_score", float("nan")),
        ("text_score", "0.5"),
        ("character_scores", (1.0,) * 10),
        ("candidates", ({"text": "A", "score": 1.0},) * 6),
        ("colour", "white"),
        ("xyxy", (1.0, 2.0, 3.0)),
        ("xyxy", (1.0, 2.0, 3.0, float("inf"))),
        ("corners", ((1.0, 2.0),) * 3),
    ],
)
def test_a_plate_takes_nothing_else(name: str, value: object) -> None:
    values = Plate(**Plate.fields_of(vars(PLATE))).model_dump()
    Plate(**values)
    with pytest.raises(ValidationError):
        Plate(**values | {name: value})
