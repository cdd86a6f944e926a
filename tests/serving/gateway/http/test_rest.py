import asyncio
import base64
import io
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from PIL import Image

from orchestrator.contract import OF_A_READING, OUTPUTS
from orchestrator.errors import (
    ModelError,
    ParameterError,
    PictureError,
)
from orchestrator.serving.gateway.errors import UnsupportedMedia
from orchestrator.serving.gateway.http.rest import RestRequest, read, recognize, request_id
from orchestrator.serving.protocol.inference import (
    InferenceRequest,
    InferenceResponse,
    PictureFile,
    Tensor,
)
from tests.serving.gateway.http.rest_fakes import (
    LIMITS,
    PLATE,
    PLATE_AS_JSON,
    READING_AS_JSON,
    SECONDS_AS_JSON,
    SIZE_AS_JSON,
    UNREAD,
    FakeInfer,
    picture_file,
    read_out,
    recognized,
)

FILE = picture_file()


def lying_picture() -> bytes:
    """Return a picture of 20x10 pixels whose EXIF data rotate it by 90 degrees."""
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x112] = 6
    Image.new("RGB", (20, 10)).save(file, "JPEG", exif=exif)
    return file.getvalue()


@pytest.mark.parametrize("answer", [recognize, read])
def test_an_empty_body_is_no_picture(answer) -> None:
    infer = FakeInfer()
    with pytest.raises(PictureError, match=r"wanted a JPEG, PNG, WebP or BMP file, got 0 bytes"):
        asyncio.run(answer(RestRequest(b""), infer, LIMITS))
    assert infer.calls == []


def test_a_picture_without_plates_has_none() -> None:
    assert recognized(RestRequest(FILE), FakeInfer([()]))["pictures"] == [
        {"name": "", **SIZE_AS_JSON, "plates": [], "seconds": SECONDS_AS_JSON}
    ]


@pytest.mark.parametrize("ask", [recognized, read_out])
def test_an_answer_bears_the_id_of_its_call_and_the_time_of_now(ask) -> None:
    begun = datetime.now(timezone.utc) - timedelta(milliseconds=1)  # cut off
    told = ask(RestRequest(FILE, id="one"), FakeInfer())
    assert (list(told), told["request_id"]) == (["request_id", "time", "pictures"], "one")
    assert begun <= datetime.fromisoformat(told["time"]) <= datetime.now(timezone.utc)


@pytest.mark.parametrize("ask", [recognized, read_out])
def test_labels_come_back_and_do_not_reach_the_model(ask) -> None:
    infer = FakeInfer()
    labels = {"camera_id": "въезд 7", "timestamp": "2026-05-17T09:30:00+03:00"}
    query = [*labels.items(), ("text_threshold", "0.5")]
    told = ask(RestRequest(FILE, query=query), infer)
    assert {name: told[name] for name in labels} == labels
    assert infer.calls[0].parameters == {"text_threshold": "0.5"}


@pytest.mark.parametrize("ask", [recognized, read_out])
def test_a_wrong_label_ends_the_call_before_the_model(ask) -> None:
    infer = FakeInfer()
    with pytest.raises(ParameterError, match=r"timestamp: wanted an ISO 8601 time .* got 'now'"):
        ask(RestRequest(FILE, query=[("timestamp", "now")]), infer)
    assert infer.calls == []


@pytest.mark.parametrize("ask", [recognized, read_out])
def test_the_size_of_a_picture_is_that_of_the_upright_one(ask) -> None:
    told = ask(RestRequest(lying_picture()), FakeInfer())["pictures"][0]
    assert (told["width"], told["height"]) == (10, 20)


def test_the_size_of_a_picture_in_base64_is_known() -> None:
    told = recognized(RestRequest(base64.b64encode(FILE)), FakeInfer())["pictures"][0]
    assert (told["width"], told["height"]) == (20, 10)


@pytest.mark.parametrize("body", [FILE, base64.b64encode(FILE)], ids=["file", "base64"])
@pytest.mark.parametrize("ask", [recognized, read_out])
def test_a_picture_is_decoded_and_its_header_read_once(ask: Callable, body: bytes) -> None:
    ran: Counter[str] = Counter()
    sys.setprofile(lambda frame, event, _: ran.update({frame.f_code.co_name: event == "call"}))
    try:
        ask(RestRequest(body), FakeInfer())
    finally:
        sys.setprofile(None)
    assert [ran[one] for one in ("from_base64", "check_file", "_read_jpeg")] == [1, 1, 1]


def test_numbers_are_rounded() -> None:
    plate = replace(PLATE, xyxy=(10.04, 20.06, 110.5, 45.0), text_score=0.87654321,
                    candidates=(("A123BC77", 0.00004),))  # fmt: skip
    (told,) = recognized(RestRequest(FILE), FakeInfer([(plate,)]))["pictures"][0]["plates"]
    assert (told["xyxy"], told["text_score"]) == ([10.0, 20.1, 110.5, 45.0], 0.8765)
    assert told["candidates"] == [{"text": "A123BC77", "score": 0.0}]


def test_a_plate_has_everything_the_model_gives_and_no_text_if_it_was_not_read() -> None:
    (picture,) = recognized(RestRequest(FILE), FakeInfer([(PLATE, UNREAD)]))["pictures"]
    plate, unread = picture["plates"]
    assert plate == PLATE_AS_JSON
    assert (unread["text"], unread["text_native"], unread["candidates"]) == ("", None, [])
    assert unread["character_scores"] == []


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


def test_a_file_that_curl_has_changed_is_told_how_to_send_it() -> None:
    infer, type_of_curl = FakeInfer(), "application/x-www-form-urlencoded"
    damaged = picture_file(".png").translate(None, b"\r\n")
    with pytest.raises(PictureError, match=r"got .* with --data-binary, not with -d"):
        recognized(RestRequest(damaged, type_of_curl), infer)
    assert infer.calls == []
    assert len(recognized(RestRequest(FILE, type_of_curl), infer)["pictures"]) == 1


def test_one_picture_that_fails_fails_the_call() -> None:
    with pytest.raises(PictureError, match="damaged"):
        recognized(RestRequest(FILE), FakeInfer([PictureError("damaged")]))


@pytest.mark.parametrize(
    ("plate", "message"),
    [
        pytest.param(
            replace(PLATE, detection_score=2.0),
            r"plates.0.detection_score: wanted at most 1",
            id="score",
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
    assert read_out(RestRequest(FILE), FakeInfer())["pictures"] == [
        {"name": "", **SIZE_AS_JSON, "plate": READING_AS_JSON}
    ]


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
