import asyncio
from dataclasses import replace

import pytest

from orchestrator.contract import OF_A_READING, OUTPUTS
from orchestrator.errors import (
    ModelError,
    ParameterError,
    PictureError,
)
from orchestrator.gateway.errors import UnsupportedMedia
from orchestrator.gateway.http.rest import RestRequest, read, recognize, request_id
from orchestrator.protocol.inference import (
    InferenceRequest,
    InferenceResponse,
    PictureFile,
    Tensor,
)
from tests.gateway.http.rest_fakes import (
    LIMITS,
    PLATE,
    PLATE_AS_JSON,
    READING_AS_JSON,
    SECONDS_AS_JSON,
    UNREAD,
    FakeInfer,
    picture_file,
    read_out,
    recognized,
)

FILE = picture_file()


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


def test_a_plate_has_everything_the_model_gives_and_no_text_if_it_was_not_read() -> None:
    (picture,) = recognized(RestRequest(FILE), FakeInfer([(PLATE, UNREAD)]))["pictures"]
    plate, unread = picture["plates"]
    assert plate == PLATE_AS_JSON
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


def test_one_picture_that_fails_fails_the_call() -> None:
    with pytest.raises(PictureError, match="damaged"):
        recognized(RestRequest(FILE), FakeInfer([PictureError("damaged")]))


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


@pytest.mark.parametrize("count", [pytest.param(0, id="none"), pytest.param(2, id="two")])
def test_a_reader_that_answers_not_one_row_has_failed(count: int) -> None:
    with pytest.raises(ModelError, match=f"wanted one reading of the crop, got {count}"):
        read_out(RestRequest(FILE), FakeInfer([(PLATE,) * count]))


@pytest.mark.parametrize("given", ["gate-7", "a" * 128])
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
