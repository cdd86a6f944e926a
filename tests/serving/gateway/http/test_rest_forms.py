"""Forms with several pictures: one may fail alone, and all share one query and one timeout."""

import asyncio
import json
from dataclasses import replace

import pytest

from orchestrator.errors import (
    Cancelled,
    ParameterError,
    PictureError,
    PlateError,
    ServerError,
)
from orchestrator.serving.gateway.errors import QuotaExceeded, ServiceFull
from orchestrator.serving.gateway.http.multipart import FormError
from orchestrator.serving.gateway.http.rest import RestRequest, read, recognize
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse
from tests.serving.gateway.http.forms import CONTENT_TYPE, form, part
from tests.serving.gateway.http.rest_fakes import (
    LIMITS,
    PLATE,
    READING_AS_JSON,
    SIZE_AS_JSON,
    UNREAD,
    FakeInfer,
    picture_file,
    read_out,
    recognized,
)

FILE = picture_file()
THREE = form(part(FILE), part(FILE), part(FILE))


def test_a_form_of_one_picture_shows_its_name() -> None:
    told = recognized(RestRequest(form(part(FILE)), CONTENT_TYPE), FakeInfer())
    assert told["pictures"][0]["name"] == "a.jpg"


def test_pictures_of_a_form_are_calls_one_after_the_other() -> None:
    infer = FakeInfer([(PLATE,), (), (UNREAD,)])
    told = recognized(RestRequest(THREE, CONTENT_TYPE, id="all"), infer)

    assert [len(picture["plates"]) for picture in told["pictures"]] == [1, 0, 1]
    assert [call.id for call in infer.calls] == ["all/0", "all/1", "all/2"]


@pytest.mark.parametrize("answer", [recognize, read])
def test_a_form_of_too_many_pictures_is_refused(answer) -> None:
    body = form(*[part(FILE)] * 4)
    with pytest.raises(FormError, match="wanted 1 to 3 pictures"):
        asyncio.run(answer(RestRequest(body, CONTENT_TYPE), FakeInfer(), LIMITS))


def test_of_several_pictures_one_that_fails_has_a_problem() -> None:
    infer = FakeInfer([PictureError("damaged"), (PLATE,), (PLATE,)])
    told = recognized(RestRequest(THREE, CONTENT_TYPE), infer)["pictures"]

    assert [len(picture.get("plates", [])) for picture in told] == [0, 1, 1]
    assert told[0] == {
        "name": "a.jpg",
        "problem": {
            "type": "/docs#problem-picture",
            "title": "The picture cannot be used",
            "status": 400,
            "detail": "damaged",
            "reason": "picture",
        },
    }


def test_the_pictures_of_a_form_share_the_time_of_one_call() -> None:
    """The second picture never gets an answer; so the third is not started."""

    class Stuck(FakeInfer):
        async def __call__(self, call: InferenceRequest) -> InferenceResponse:
            answer = await super().__call__(call)
            await asyncio.sleep(0 if call.id.endswith("/0") else 60)
            return answer

    limits = replace(LIMITS, call_s=0.2)
    answers = asyncio.run(recognize(RestRequest(THREE, CONTENT_TYPE), Stuck(), limits))
    first, *others = json.loads(answers.to_json())["pictures"]
    assert len(first["plates"]) == 1
    assert [(one["problem"]["status"], one["problem"]["reason"]) for one in others] == [
        (504, "late"), (504, "late")
    ]  # fmt: skip


def test_an_empty_file_among_others_has_a_problem() -> None:
    body = form(part(b""), part(FILE))
    told = recognized(RestRequest(body, CONTENT_TYPE), FakeInfer())["pictures"]
    assert [picture.get("problem", {}).get("status") for picture in told] == [400, None]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ServiceFull("full", 1.0), id="full"),
        pytest.param(QuotaExceeded("rate", 1.0), id="rate"),
        pytest.param(ServerError("away"), id="away"),
    ],
)
def test_a_service_without_room_for_the_first_picture_refuses_all(error: PlateError) -> None:
    infer = FakeInfer([error])
    with pytest.raises(type(error)):
        recognized(RestRequest(THREE, CONTENT_TYPE), infer)
    assert len(infer.calls) == 1


def test_a_service_without_room_for_a_later_picture_answers_the_others() -> None:
    infer = FakeInfer([(PLATE,), QuotaExceeded("rate", 1.0), (PLATE,)])
    told = recognized(RestRequest(THREE, CONTENT_TYPE), infer)["pictures"]
    assert [picture.get("problem", {}).get("status") for picture in told] == [None, 429, None]


def test_a_caller_who_has_gone_is_not_answered_further() -> None:
    infer = FakeInfer([(PLATE,), Cancelled("gone")])
    with pytest.raises(Cancelled):
        recognized(RestRequest(THREE, CONTENT_TYPE), infer)
    assert len(infer.calls) == 2


def test_a_fault_of_ours_is_no_problem_of_a_picture() -> None:
    with pytest.raises(ZeroDivisionError):
        recognized(RestRequest(THREE, CONTENT_TYPE), FakeInfer([(PLATE,), ZeroDivisionError()]))


def test_of_several_crops_one_that_is_no_picture_has_a_problem() -> None:
    infer = FakeInfer()
    body = form(part(b"no picture"), part(FILE))
    told = read_out(RestRequest(body, CONTENT_TYPE, id="all"), infer)["pictures"]

    assert told[0]["problem"]["reason"] == "picture"
    assert told[1] == {"name": "a.jpg", **SIZE_AS_JSON, "plate": READING_AS_JSON}
    assert [call.id for call in infer.calls] == ["all/1"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            [("outputs", "texts")], "parameters: wanted some of .*, got outputs", id="unknown"
        ),
        pytest.param([("max_plates", "0")], "max_plates: wanted 1 to 1000, got 0", id="range"),
        pytest.param([("text_threshold", "nan")], "wanted 0 to 1, got nan", id="no number"),
        pytest.param([("roi", "1,2,3")], "roi: wanted", id="roi"),
        pytest.param(
            [("max_plates", "1"), ("max_plates", "1")],
            "parameters: wanted each once, got max_plates 2 times",
            id="twice",
        ),
    ],
)
def test_a_wrong_parameter_ends_the_call_before_the_model(query, message: str) -> None:
    infer = FakeInfer()
    with pytest.raises(ParameterError, match=message):
        recognized(RestRequest(THREE, CONTENT_TYPE, query), infer)
    assert infer.calls == []
