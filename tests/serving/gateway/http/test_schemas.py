import dataclasses
import json

import pytest
from pydantic import ValidationError

from orchestrator import plates
from orchestrator.contract import STAGES
from orchestrator.serving.gateway.http.schemas import (
    FailedPicture,
    Plate,
    Problem,
    Reading,
    Recognition,
    RecognizedPicture,
    Seconds,
)
from tests.serving.gateway.http.rest_fakes import (
    PLATE,
    PLATE_AS_JSON,
    SECONDS_AS_JSON,
    SIZE_AS_JSON,
)

CALL = {"request_id": "one", "time": "2026-05-17T06:30:00.412+00:00"}

PROBLEM = {
    "type": "about:blank",
    "title": "Bad Request",
    "status": 400,
    "detail": "wanted a picture",
    "reason": "picture",
}


def test_an_answer_without_pictures_is_one() -> None:
    assert json.loads(Recognition(**CALL, pictures=()).to_json()) == CALL | {"pictures": []}


def test_fields_are_those_of_a_plate_and_of_the_model() -> None:
    of_a_plate = {field.name for field in dataclasses.fields(plates.Plate)}
    assert set(Plate.model_fields) == of_a_plate | {"text_native"}
    missing = set(Plate.model_fields) - set(Reading.model_fields)
    assert missing == {"xyxy", "detection_score", "corners"}
    assert tuple(Seconds.model_fields) == STAGES


def test_a_plate_as_json_is_what_it_was() -> None:
    plate = Plate.fields_of(vars(PLATE))
    picture = RecognizedPicture(
        name="car.jpg", **SIZE_AS_JSON, plates=(plate,), seconds=SECONDS_AS_JSON
    )
    assert json.loads(picture.to_json()) == {
        "name": "car.jpg",
        **SIZE_AS_JSON,
        "plates": [PLATE_AS_JSON],
        "seconds": SECONDS_AS_JSON,
    }


def test_a_problem_without_an_instance_has_no_such_field() -> None:
    assert json.loads(Problem(**PROBLEM).to_json()) == PROBLEM


def test_a_failed_picture_stands_among_the_others() -> None:
    failed = FailedPicture(name="b", problem=Problem(**PROBLEM))
    empty = RecognizedPicture(name="a", **SIZE_AS_JSON, plates=(), seconds=SECONDS_AS_JSON)
    answer = Recognition(**CALL, pictures=(empty, failed))
    assert Recognition.model_validate_json(answer.to_json()) == answer


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
