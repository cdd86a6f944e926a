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

from orchestrator.contract import EVERY_OUTPUT, OF_A_READING, OUTPUTS
from orchestrator.errors import ModelError, ParameterError, PictureError
from orchestrator.plates import PlateCountry
from orchestrator.serving.gateway.errors import UnsupportedMedia
from orchestrator.serving.gateway.http.rest import RestRequest, recognize, request_id
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
    read_with,
    recognize_with,
)

FILE = picture_file()


def make_lying_picture() -> bytes:
    """Return a picture of 20x10 pixels whose EXIF data rotate it by 90 degrees."""
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x112] = 6
    Image.new("RGB", (20, 10)).save(file, "JPEG", exif=exif)
    return file.getvalue()


BOTH = pytest.mark.parametrize("ask", [recognize_with, read_with])


@BOTH
@pytest.mark.parametrize(
    ("body", "content_type", "query", "kind", "message"),
    [
        (b"", "", (), PictureError, "wanted a JPEG, PNG, WebP or BMP file, got 0 bytes"),
        (FILE, "", [("timestamp", "now")], ParameterError, "timestamp: wanted an ISO .* got 'now'"),
        (FILE, "application/json", (), UnsupportedMedia, "wanted image/.*, got application/json"),
        (FILE, "text/plain", (), UnsupportedMedia, "wanted image/.*, got text/plain"),
        (FILE, "multipart/mixed", (), UnsupportedMedia, "wanted image/.*, got multipart/mixed"),
        (
            picture_file(".png").translate(None, b"\r\n"),
            "application/x-www-form-urlencoded",
            (),
            PictureError,
            "got .* with curl write --data-binary @FILE",
        ),
    ],
    ids=["empty", "label", "JSON", "text", "another form", "changed by curl"],
)
def test_a_wrong_call_ends_before_the_model(
    ask: Callable, body: bytes, content_type: str, query: list, kind: type, message: str
) -> None:
    infer = FakeInfer()
    with pytest.raises(kind, match=message):
        ask(RestRequest(body, content_type, query), infer)
    assert infer.calls == []


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "image/jpeg",
        "IMAGE/PNG",
        "image/x-unheard; a=b",
        "application/octet-stream",
        "application/x-www-form-urlencoded",  # curl's
    ],
)
def test_a_body_of_these_types_is_a_picture(content_type: str) -> None:
    """A picture may have no plates."""
    assert recognize_with(RestRequest(FILE, content_type), FakeInfer([()]))["pictures"] == [
        {"name": "", **SIZE_AS_JSON, "plates": [], "seconds": SECONDS_AS_JSON}
    ]


@BOTH
def test_an_answer_bears_id_labels_and_the_time_of_now(ask: Callable) -> None:
    start = datetime.now(timezone.utc) - timedelta(milliseconds=1)  # cut off
    labels = {"camera_id": "въезд 7", "timestamp": "2026-05-17T09:30:00+03:00"}
    infer = FakeInfer()
    query = [*labels.items(), ("text_threshold", "0.5")]
    answer = ask(RestRequest(FILE, query=query, id="one"), infer)
    assert {*answer} == {"request_id", "time", "pictures", *labels}
    assert {name: answer[name] for name in labels} == labels
    assert answer["request_id"] == "one"
    assert start <= datetime.fromisoformat(answer["time"]) <= datetime.now(timezone.utc)
    assert infer.calls[0].parameters == {"text_threshold": "0.5"}
    assert {*ask(RestRequest(FILE), FakeInfer())} == {"request_id", "time", "pictures"}


@BOTH
@pytest.mark.parametrize(
    ("body", "size_wh"),
    [(FILE, (20, 10)), (base64.b64encode(FILE), (20, 10)), (make_lying_picture(), (10, 20))],
    ids=["file", "base64", "rotated by its EXIF data"],
)
def test_a_picture_is_decoded_and_its_header_read_once(
    ask: Callable, body: bytes, size_wh: tuple[int, int]
) -> None:
    call_counts: Counter[str] = Counter()
    sys.setprofile(
        lambda frame, event, _: call_counts.update({frame.f_code.co_name: event == "call"})
    )
    try:
        (picture,) = ask(RestRequest(body), FakeInfer())["pictures"]
    finally:
        sys.setprofile(None)
    assert [call_counts[name] for name in ("from_base64", "check_file", "_read_jpeg")] == [1, 1, 1]
    assert (picture["width"], picture["height"]) == size_wh


def test_numbers_are_rounded() -> None:
    plate = replace(PLATE, xyxy=(10.04, 20.06, 110.5, 45.0), text_score=0.87654321,
                    candidates=(("A123BC77", 0.00004),))  # fmt: skip
    (answer_plate,) = recognize_with(RestRequest(FILE), FakeInfer([(plate,)]))["pictures"][0][
        "plates"
    ]
    assert (answer_plate["xyxy"], answer_plate["text_score"]) == ([10.0, 20.1, 110.5, 45.0], 0.8765)
    assert answer_plate["candidates"] == [{"text": "A123BC77", "score": 0.0}]


def test_a_plate_has_everything_the_model_gives_and_no_text_if_it_was_not_read() -> None:
    (picture,) = recognize_with(RestRequest(FILE), FakeInfer([(PLATE, UNREAD)]))["pictures"]
    plate, unread = picture["plates"]
    assert plate == PLATE_AS_JSON
    assert (unread["text"], unread["text_native"], unread["candidates"]) == ("", None, [])
    assert unread["character_scores"] == []


ABROAD = replace(PLATE, format="kz_car", country=PlateCountry("kz", 0.96875))


def test_the_country_of_a_plate_is_told_where_the_model_knows_several() -> None:
    several = FakeInfer([(ABROAD, UNREAD)], outputs=tuple(EVERY_OUTPUT))
    plate, unread = recognize_with(RestRequest(FILE), several)["pictures"][0]["plates"]
    assert plate["country"] == {"code": "kz", "score": 0.9688}
    assert "country" not in unread
    (plate,) = recognize_with(RestRequest(FILE), FakeInfer([(ABROAD,)]))["pictures"][0]["plates"]
    assert "country" not in plate


def test_the_country_of_a_crop_is_told_where_the_model_knows_several() -> None:
    several = FakeInfer([(ABROAD,)], outputs=tuple(EVERY_OUTPUT))
    (picture,) = read_with(RestRequest(FILE), several)["pictures"]
    assert picture["plate"]["country"] == {"code": "kz", "score": 0.9688}


HEADER_ALONE = picture_file(".png")[:60]
READING = ("coordinates", *OF_A_READING)


@pytest.mark.parametrize(
    ("ask", "name", "file", "outputs"),
    [
        (recognize_with, "encoded_image", FILE, (*OUTPUTS, "stage_seconds")),
        (read_with, "encoded_crop", HEADER_ALONE, READING),  # it cannot be unpacked
    ],
)
def test_the_model_is_called_with_the_file_as_it_came(
    ask: Callable, name: str, file: bytes, outputs: tuple[str, ...]
) -> None:
    infer, trace, query = FakeInfer(), {"traceparent": "00-1-2-01"}, {"text_threshold": "0.9"}
    ask(RestRequest(file, query=[*query.items()], id="one", trace=trace), infer)
    (call,) = infer.calls
    assert call.inputs == (PictureFile(name, file),)
    assert (call.model, call.id, call.outputs) == ("plate_recognition", "one", outputs)
    assert (call.parameters, call.trace) == (query, trace)


def test_a_crop_is_read() -> None:
    assert read_with(RestRequest(FILE), FakeInfer())["pictures"] == [
        {"name": "", **SIZE_AS_JSON, "plate": READING_AS_JSON}
    ]


def test_the_reader_takes_no_parameter_of_the_detector() -> None:
    with pytest.raises(ParameterError, match="wanted some of text_threshold, got max_plates"):
        read_with(RestRequest(FILE, query=[("max_plates", "1")]), FakeInfer())


@pytest.mark.parametrize(
    ("ask", "entry", "kind", "message"),
    [
        (recognize_with, PictureError("damaged"), PictureError, "damaged"),
        (
            recognize_with,
            (replace(PLATE, detection_score=2.0),),
            ModelError,
            r"plates.0.detection_score: wanted at most 1",
        ),
        (
            recognize_with,
            (replace(PLATE, xyxy=(0.0, 0.0, float("nan"), 1.0)),),
            ModelError,
            r"plates.0.xyxy.2",
        ),
        (read_with, (), ModelError, "wanted one reading of the crop, got 0"),
        (read_with, (PLATE,) * 2, ModelError, "wanted one reading of the crop, got 2"),
    ],
    ids=["picture", "score", "no number", "no reading", "two readings"],
)
def test_a_failure_of_the_model_fails_a_call_of_one_picture(
    ask: Callable, entry: object, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ask(RestRequest(FILE), FakeInfer([entry]))


def test_an_answer_without_an_output_is_the_models_failure() -> None:
    async def infer(call: InferenceRequest) -> InferenceResponse:
        boxes = Tensor("coordinates", "FP32", (0, 4), b"")
        return InferenceResponse(call.model, "1", call.id, (boxes,))

    with pytest.raises(ModelError, match="wanted the outputs asked for, got none named texts"):
        asyncio.run(recognize(RestRequest(FILE), infer, LIMITS))


@pytest.mark.parametrize("name", ["gate-7", "a" * 128])
def test_a_callers_name_of_a_call_is_kept(name: str) -> None:
    assert request_id(name) == name


@pytest.mark.parametrize("name", [None, "", "a" * 129, "a\nb", "probe"])
def test_another_name_is_replaced(name: str | None) -> None:
    new_name = request_id(name)
    assert new_name != name
    assert len(new_name) == 32
