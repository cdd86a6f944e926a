"""Forms with several pictures: one may fail alone, and all share one query and one timeout."""

import asyncio
import json
from dataclasses import replace

import pytest

from orchestrator.errors import Cancelled, ParameterError, PictureError, ServerError
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
    read_with,
    recognize_with,
)

FILE, QUOTA = picture_file(), QuotaExceeded("rate", 1.0)
THREE = form(part(FILE), part(FILE), part(FILE))


def test_pictures_of_a_form_are_calls_one_after_the_other() -> None:
    infer = FakeInfer([(PLATE,), (), (UNREAD,)])
    answer = recognize_with(RestRequest(THREE, CONTENT_TYPE, id="all"), infer)

    assert [len(picture["plates"]) for picture in answer["pictures"]] == [1, 0, 1]
    assert [call.id for call in infer.calls] == ["all/0", "all/1", "all/2"]


@pytest.mark.parametrize("answer", [recognize, read])
def test_a_form_of_too_many_pictures_is_refused(answer) -> None:
    body = form(*[part(FILE)] * 4)
    with pytest.raises(FormError, match="wanted 1 to 3 pictures"):
        asyncio.run(answer(RestRequest(body, CONTENT_TYPE), FakeInfer(), LIMITS))


def test_the_pictures_of_a_form_share_the_time_of_one_call() -> None:
    """The second picture never gets an answer; so the third is not started."""

    class Stuck(FakeInfer):
        async def __call__(self, call: InferenceRequest) -> InferenceResponse:
            answer = await super().__call__(call)
            await asyncio.sleep(0 if call.id.endswith("/0") else 60)
            return answer

    limits = replace(LIMITS, call_s=0.2)
    answers = asyncio.run(recognize(RestRequest(THREE, CONTENT_TYPE), Stuck(), limits))
    first, *late_pictures = json.loads(answers.to_json())["pictures"]
    assert len(first["plates"]) == 1
    problems = [picture["problem"] for picture in late_pictures]
    assert [(problem["status"], problem["reason"]) for problem in problems] == [(504, "late")] * 2


@pytest.mark.parametrize(
    ("entries", "calls"),
    [
        pytest.param([ServiceFull("full", 1.0)], 1, id="full"),
        pytest.param([QuotaExceeded("rate", 1.0)], 1, id="rate"),
        pytest.param([ServerError("away")], 1, id="away"),
        pytest.param([(PLATE,), Cancelled("gone")], 2, id="the caller has gone"),
        pytest.param([(PLATE,), ZeroDivisionError()], 2, id="a fault of ours"),
    ],
)
def test_a_service_without_room_for_the_first_picture_refuses_all(
    entries: list, calls: int
) -> None:
    infer = FakeInfer(entries)
    with pytest.raises(type(entries[-1])):
        recognize_with(RestRequest(THREE, CONTENT_TYPE), infer)
    assert len(infer.calls) == calls


@pytest.mark.parametrize(
    ("body", "entries", "statuses"),
    [
        pytest.param(THREE, [PictureError("damaged"), (PLATE,)], [400, None, None], id="first"),
        pytest.param(THREE, [(PLATE,), QUOTA, (PLATE,)], [None, 429, None], id="no room"),
        pytest.param(form(part(b""), part(FILE)), [(PLATE,)], [400, None], id="an empty file"),
    ],
)
def test_of_several_pictures_one_that_fails_has_a_problem(
    body: bytes, entries: list, statuses: list[int | None]
) -> None:
    pictures = recognize_with(RestRequest(body, CONTENT_TYPE), FakeInfer(entries))["pictures"]
    problems = [picture.get("problem") for picture in pictures]
    assert [problem and problem["status"] for problem in problems] == statuses
    assert [len(picture.get("plates", [])) for picture in pictures] == [
        int(status is None) for status in statuses
    ]
    assert {picture["name"] for picture in pictures} == {"a.jpg"}
    (problem,) = filter(None, problems)
    assert {*problem} == {"type", "title", "status", "detail", "reason"}


def test_of_several_crops_one_that_is_no_picture_has_a_problem() -> None:
    infer = FakeInfer()
    body = form(part(b"no picture"), part(FILE))
    pictures = read_with(RestRequest(body, CONTENT_TYPE, id="all"), infer)["pictures"]

    assert pictures[0]["problem"]["reason"] == "picture"
    assert pictures[1] == {"name": "a.jpg", **SIZE_AS_JSON, "plate": READING_AS_JSON}
    assert [call.id for call in infer.calls] == ["all/1"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ([("outputs", "texts")], "parameters: wanted some of .*, got outputs"),
        ([("max_plates", "0")], "max_plates: wanted 1 to 1000, got 0"),
        ([("text_threshold", "nan")], "wanted 0 to 1, got nan"),
        ([("roi", "1,2,3")], "roi: wanted"),
        ([("max_plates", "1")] * 2, "parameters: wanted each once, got max_plates 2 times"),
    ],
)
def test_a_wrong_parameter_ends_the_call_before_the_model(query: list, message: str) -> None:
    infer = FakeInfer()
    with pytest.raises(ParameterError, match=message):
        recognize_with(RestRequest(THREE, CONTENT_TYPE, query), infer)
    assert infer.calls == []
