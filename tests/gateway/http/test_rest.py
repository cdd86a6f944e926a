import asyncio
import json
from dataclasses import replace

import pytest

from orchestrator.contract import OF_A_READING, OUTPUTS
from orchestrator.errors import (
    Cancelled,
    ModelError,
    ParameterError,
    PictureError,
    PlateError,
    ServerError,
)
from orchestrator.gateway.errors import QuotaExceeded, ServiceFull, UnsupportedMedia
from orchestrator.gateway.http.multipart import FormError
from orchestrator.gateway.http.rest import RestRequest, read, recognize, request_id
from orchestrator.gateway.options import Limits
from orchestrator.protocol.inference import (
    InferenceRequest,
    InferenceResponse,
    PictureFile,
    Tensor,
)
from tests.gateway.http.forms import CONTENT_TYPE, form, part
from tests.gateway.http.rest_fakes import (
    PLATE,
    PLATE_AS_JSON,
    SECONDS_AS_JSON,
    UNREAD,
    FakeInfer,
    picture_file,
)

LIMITS = Limits(pictures=3)
READING_AS_JSON = {
    name: PLATE_AS_JSON[name]
    for name in (
        *("text", "text_score", "raw_text", "character_scores"),
        *("candidates", "format", "region"),
    )
}
FILE = picture_file()
THREE = form(part(FILE), part(FILE), part(FILE))


def recognized(sent: RestRequest, infer: FakeInfer) -> dict:
    return json.loads(asyncio.run(recognize(sent, infer, LIMITS)).to_json())


def read_out(sent: RestRequest, infer: FakeInfer) -> dict:
    return json.loads(asyncio.run(read(sent, infer, LIMITS)).to_json())


@pytest.mark.parametrize("answer", [recognize, read])
def test_an_empty_body_is_no_picture(answer) -> None:
    infer = FakeInfer()
    with pytest.raises(PictureError, match=r"wanted a JPEG, PNG, WebP or BMP file, got 0 bytes"):
        asyncio.run(answer(RestRequest(b""), infer, LIMITS))
    assert infer.calls == []


def test_a_picture_without_plates_has_none() -> None:
    assert recognized(RestRequest(FILE), FakeInfer([()])) == {
        "pictures": [{"name": "", "plates": [], "seconds": SECONDS_AS_JSON}]
    }


def test_a_plate_has_everything_the_model_gives() -> None:
    assert recognized(RestRequest(FILE), FakeInfer()) == {
        "pictures": [{"name": "", "plates": [PLATE_AS_JSON], "seconds": SECONDS_AS_JSON}]
    }


def test_a_plate_that_was_not_read_has_no_text() -> None:
    (picture,) = recognized(RestRequest(FILE), FakeInfer([(PLATE, UNREAD)]))["pictures"]
    unread = picture["plates"][1]
    assert (unread["text"], unread["candidates"], unread["character_scores"]) == ("", [], [])


def test_the_model_is_called_with_the_file_as_it_came() -> None:
    infer = FakeInfer()
    trace = {"traceparent": "00-1-2-01"}
    recognized(RestRequest(FILE, query=[("max_plates", "3")], id="one", trace=trace), infer)

    (call,) = infer.calls
    assert call.inputs == (PictureFile("encoded_image", FILE),)
    assert (call.model, call.id) == ("plate_recognition", "one")
    assert call.outputs == (*OUTPUTS, "stage_seconds")
    assert (call.parameters, call.trace) == ({"max_plates": "3"}, trace)


@pytest.mark.parametrize(
    "content_type",
    ["", "image/jpeg", "IMAGE/PNG", "image/x-unheard; a=b", "application/octet-stream"],
)
def test_a_body_of_these_types_is_a_picture(content_type: str) -> None:
    assert len(recognized(RestRequest(FILE, content_type), FakeInfer())["pictures"]) == 1


@pytest.mark.parametrize("answer", [recognize, read])
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/mixed"])
def test_a_body_of_another_type_is_refused(answer, content_type: str) -> None:
    with pytest.raises(UnsupportedMedia, match=f"wanted image/.*, got {content_type}"):
        asyncio.run(answer(RestRequest(FILE, content_type), FakeInfer(), LIMITS))


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
    with pytest.raises(FormError, match="wanted 1 to 3 fields"):
        asyncio.run(answer(RestRequest(body, CONTENT_TYPE), FakeInfer(), LIMITS))


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


def test_one_picture_that_fails_fails_the_call() -> None:
    with pytest.raises(PictureError, match="damaged"):
        recognized(RestRequest(FILE), FakeInfer([PictureError("damaged")]))


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
    """The second never gets an answer; the third is not begun, however quick it would be."""

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


@pytest.mark.parametrize(
    ("plate", "message"),
    [
        pytest.param(
            replace(PLATE, detection_score=2.0), r"wanted plates.0.detection_score", id="score"
        ),
        pytest.param(
            replace(PLATE, xyxy=(0.0, 0.0, float("nan"), 1.0)), r"plates.0.xyxy.2", id="no number"
        ),
    ],
)
def test_an_answer_that_is_not_as_described_is_the_models_failure(plate, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        recognized(RestRequest(FILE), FakeInfer([(plate,)]))


def test_an_answer_without_an_output_is_the_models_failure() -> None:
    async def infer(call: InferenceRequest) -> InferenceResponse:
        return InferenceResponse(
            call.model, "1", call.id, (Tensor("coordinates", "FP32", (0, 4), b""),)
        )

    with pytest.raises(ModelError, match="wanted the outputs asked for, got none named texts"):
        asyncio.run(recognize(RestRequest(FILE), infer, LIMITS))


def test_a_crop_is_read() -> None:
    assert read_out(RestRequest(FILE), FakeInfer()) == {
        "pictures": [{"name": "", "plate": READING_AS_JSON}]
    }


def test_a_crop_is_sent_as_a_file_and_not_unpacked() -> None:
    infer = FakeInfer()
    file = picture_file(".png")[:60]  # a header alone: whoever unpacks it fails
    read_out(RestRequest(file, query=[("text_threshold", "0.9")], id="one"), infer)

    (call,) = infer.calls
    assert call.inputs == (PictureFile("encoded_crop", file),)
    assert (call.model, call.id, call.parameters) == (
        "plate_recognition",
        "one",
        {"text_threshold": "0.9"},
    )
    assert call.outputs == ("coordinates", *OF_A_READING)


def test_the_reader_takes_no_parameter_of_the_detector() -> None:
    with pytest.raises(ParameterError, match="wanted some of text_threshold, got max_plates"):
        read_out(RestRequest(FILE, query=[("max_plates", "1")]), FakeInfer())


def test_of_several_crops_one_that_is_no_picture_has_a_problem() -> None:
    infer = FakeInfer()
    body = form(part(b"no picture"), part(FILE))
    told = read_out(RestRequest(body, CONTENT_TYPE, id="all"), infer)["pictures"]

    assert told[0]["problem"]["reason"] == "picture"
    assert told[1]["plate"] == READING_AS_JSON
    assert [call.id for call in infer.calls] == ["all/1"]


@pytest.mark.parametrize("count", [pytest.param(0, id="none"), pytest.param(2, id="two")])
def test_a_reader_that_answers_not_one_row_has_failed(count: int) -> None:
    with pytest.raises(ModelError, match=f"wanted one reading of the crop, got {count}"):
        read_out(RestRequest(FILE), FakeInfer([(PLATE,) * count]))


@pytest.mark.parametrize(
    "given", [pytest.param("gate-7", id="short"), pytest.param("a" * 128, id="longest")]
)
def test_a_callers_name_of_a_call_is_kept(given: str) -> None:
    assert request_id(given) == given


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(None, id="none"),
        pytest.param("", id="empty"),
        pytest.param("a" * 129, id="too long"),
        pytest.param("a\nb", id="two lines"),
        pytest.param("probe", id="a health check's"),
    ],
)
def test_another_name_is_replaced(given: str | None) -> None:
    made = request_id(given)
    assert made != given
    assert len(made) == 32
