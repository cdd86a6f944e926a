"""`/v1/plate-reader/`: requests and answers for clients of Plate Recognizer's snapshot API."""

import asyncio
import json
from base64 import b64encode
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from urllib.parse import urlencode

import pytest

from orchestrator.errors import ParameterError, PictureError
from orchestrator.serving.gateway.errors import UnsupportedMedia
from orchestrator.serving.gateway.http.multipart import FormError
from orchestrator.serving.gateway.http.snapshot_api.snapshot import recognize
from orchestrator.serving.gateway.http.snapshot_api.snapshot_bodies import (
    ENCODED_FORM,
    JSON,
    json_size,
    take_apart,
)
from orchestrator.serving.protocol.inference import PictureFile
from tests.serving.gateway.http.forms import CONTENT_TYPE, form, part
from tests.serving.gateway.http.rest_fakes import PLATE, UNREAD, FakeInfer, picture_file

FILE = picture_file()
TEXT = b64encode(FILE).decode()
UPLOAD = part(FILE, 'form-data; name="upload"; filename="car.jpg"')


def field(name: str, value: str) -> bytes:
    return part(value.encode(), f'form-data; name="{name}"')


def answered(body: bytes, content_type: str, infer: FakeInfer) -> dict:
    call = take_apart(body, content_type)
    return json.loads(asyncio.run(recognize(call, infer, "one", {})).to_json())


def answered_form(*fields: bytes, infer: FakeInfer | None = None) -> dict:
    return answered(form(*fields), CONTENT_TYPE, infer or FakeInfer())


def answered_json(infer: FakeInfer | None = None, **values: object) -> dict:
    return answered(json.dumps({"upload": TEXT} | values).encode(), JSON, infer or FakeInfer())


def test_a_picture_without_plates_has_no_results() -> None:
    assert answered_form(UPLOAD, infer=FakeInfer([()]))["results"] == []


def test_a_plate_has_the_fields_of_their_api() -> None:
    assert answered_form(UPLOAD)["results"] == [
        {
            "box": {"xmin": 10, "ymin": 20, "xmax": 110, "ymax": 45},
            "plate": "a123bc77",
            "region": {"code": "ru", "score": 0.875},
            "score": 0.875,
            "candidates": [
                {"score": 0.875, "plate": "a123bc77"},
                {"score": 0.0625, "plate": "a128bc77"},
            ],
            "dscore": 0.75,
            "vehicle": {
                "score": 0.0,
                "type": "Unknown",
                "box": {"xmin": 0, "ymin": 0, "xmax": 0, "ymax": 0},
            },
        }
    ]


def test_a_plate_of_another_country_has_its_code() -> None:
    plate = replace(PLATE, format="kz_car")
    (result,) = answered_form(UPLOAD, infer=FakeInfer([(plate,)]))["results"]
    assert result["region"]["code"] == "kz"


def test_a_plate_that_was_not_read_is_left_out() -> None:
    results = answered_form(UPLOAD, infer=FakeInfer([(UNREAD, PLATE)]))["results"]
    assert [result["plate"] for result in results] == ["a123bc77"]


def test_the_time_is_that_of_all_stages_in_milliseconds() -> None:
    assert answered_form(UPLOAD)["processing_time"] == 2187.5


def test_labels_come_back() -> None:
    told = answered_form(
        UPLOAD, field("camera_id", "въезд 7"), field("timestamp", "2026-05-17T09:30:00")
    )
    assert (told["filename"], told["version"]) == ("car.jpg", 1)
    assert (told["camera_id"], told["timestamp"]) == ("въезд 7", "2026-05-17T09:30:00")


def test_without_labels_the_camera_is_null_and_the_time_that_of_the_answer() -> None:
    begun = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    told = answered_form(UPLOAD)
    assert told["camera_id"] is None
    assert told["timestamp"].endswith("Z")
    at = datetime.fromisoformat(told["timestamp"].replace("Z", "+00:00"))
    assert begun <= at <= datetime.now(timezone.utc)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        pytest.param("2026-05-17 09:30:00", "2026-05-17T09:30:00", id="with a blank"),
        pytest.param("2026-05-17T09:30:00.5Z", "2026-05-17T09:30:00.5Z", id="in UTC"),
    ],
)
def test_a_time_may_be_as_their_clients_write_it(sent: str, told: str) -> None:
    assert answered_form(UPLOAD, field("timestamp", sent))["timestamp"] == told


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        pytest.param(form(UPLOAD), CONTENT_TYPE, id="file"),
        pytest.param(form(field("upload", TEXT)), CONTENT_TYPE, id="base64 in a form"),
        pytest.param(urlencode({"upload": TEXT}).encode(), ENCODED_FORM, id="encoded form"),
        pytest.param(json.dumps({"upload": TEXT}).encode(), JSON, id="JSON"),
        pytest.param(
            json.dumps({"upload": f"data:image/jpeg;base64,{TEXT}"}).encode(),
            "application/json; charset=utf-8",
            id="data URL",
        ),
    ],
)
def test_a_picture_comes_in_any_of_these_forms(body: bytes, content_type: str) -> None:
    infer = FakeInfer()
    assert answered(body, content_type, infer)["results"][0]["plate"] == "a123bc77"
    assert infer.calls[0].inputs == (PictureFile("encoded_image", FILE),)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param('{"threshold_d": 0.5, "threshold_o": 0.25}', id="text"),
        pytest.param({"threshold_d": 0.5, "threshold_o": 0.25}, id="object"),
        pytest.param(
            '{"threshold_d": 0.5, "threshold_o": 0.25, "mode": "fast", "region": "strict",'
            ' "detection_mode": "plate"}',
            id="with others",
        ),
    ],
)
def test_thresholds_of_their_configuration_are_ours(config: object) -> None:
    infer = FakeInfer()
    answered_json(infer, config=config)
    wanted = {"detection_threshold": "0.5", "text_threshold": "0.25"}
    assert infer.calls[0].parameters == wanted


def test_regions_and_unknown_fields_are_ignored() -> None:
    infer = FakeInfer()
    regions = [field("regions", "ru"), field("regions", "kz")]
    answered_form(UPLOAD, *regions, field("mmc", "true"), field("region", "ru"), infer=infer)
    assert infer.calls[0].parameters == {}


def test_an_empty_configuration_is_none() -> None:
    infer = FakeInfer()
    answered_form(UPLOAD, field("config", ""), field("camera_id", ""), infer=infer)
    assert infer.calls[0].parameters == {}


def test_a_number_of_a_camera_comes_back_as_text() -> None:
    assert answered_json(camera_id=7)["camera_id"] == "7"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"config": "{"}, "config: wanted JSON, got a damaged one", id="no JSON"),
        pytest.param({"config": "[]"}, "config: wanted a JSON object, got list", id="no object"),
        pytest.param({"config": "null"}, "config: wanted a JSON object, got NoneType", id="null"),
        pytest.param({"config": []}, r"config: wanted an object, got \[\]", id="a list"),
        pytest.param(
            {"config": {"threshold_d": 2}}, "config.threshold_d: wanted at most 1", id="range"
        ),
        pytest.param(
            {"config": {"detection_mode": "vehicle"}},
            "config.detection_mode: wanted 'plate', got 'vehicle'",
            id="vehicles",
        ),
        pytest.param({"camera_id": "a" * 101}, "camera_id: wanted up to 100", id="long camera"),
        pytest.param({"camera_id": []}, "camera_id", id="camera of a list"),
        pytest.param({"timestamp": "now"}, "timestamp: wanted an ISO 8601 time", id="no time"),
        pytest.param({"upload": None}, "upload: wanted a picture's base64 text, got none", id="no"),
        pytest.param({"upload": 7}, "base64 text, got int", id="number"),
        pytest.param(
            {"upload": None, "upload_url": "http://192.0.2.1/a.jpg"},
            "upload: wanted the picture, got upload_url; this service fetches nothing",
            id="address",
        ),
    ],
)
def test_a_wrong_field_is_refused_before_the_model(values: dict, message: str) -> None:
    infer = FakeInfer()
    with pytest.raises(ParameterError, match=message):
        answered_json(infer, **values)
    assert infer.calls == []


@pytest.mark.parametrize(
    ("body", "content_type", "message"),
    [
        pytest.param(b"{", JSON, "body: wanted JSON, got a damaged one", id="damaged JSON"),
        pytest.param(b"[]", JSON, "body: wanted a JSON object, got list", id="no object"),
        pytest.param(b"[" * 5000, JSON, "body: wanted JSON, got a damaged one", id="deep JSON"),
        pytest.param(b"upload=%ff", ENCODED_FORM, "got a damaged one", id="no UTF-8"),
        pytest.param(b"upload=\xff", ENCODED_FORM, "got a damaged one", id="no ASCII"),
        pytest.param(b"a=1&" * 70, ENCODED_FORM, "got a damaged one", id="many fields"),
        pytest.param(b"%41" * 1500, ENCODED_FORM, "got 1500 escapes; send files as", id="escapes"),
    ],
)
def test_a_damaged_body_is_refused(body: bytes, content_type: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        take_apart(body, content_type)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(form(), "wanted a field named upload, got none", id="empty"),
        pytest.param(form(field("picture", "x")), "wanted a field named upload", id="our name"),
        pytest.param(form(UPLOAD, UPLOAD), "wanted 1 to 1 pictures, got more", id="two"),
        pytest.param(form(UPLOAD, *[field("a", "")] * 65), "got more", id="many fields"),
    ],
)
def test_a_form_has_one_upload(body: bytes, message: str) -> None:
    with pytest.raises(FormError, match=message):
        take_apart(body, CONTENT_TYPE)


@pytest.mark.parametrize("content_type", ["", "image/jpeg", "text/plain"])
def test_a_body_of_another_type_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMedia, match="wanted multipart/form-data or application/json"):
        take_apart(FILE, content_type)


@pytest.mark.parametrize("upload", ["", "no base64", b64encode(b"GIF89a").decode()])
def test_an_upload_that_is_no_picture_is_refused(upload: str) -> None:
    with pytest.raises(PictureError, match="wanted a JPEG, PNG, WebP or BMP file"):
        answered_json(upload=upload)


def test_files_of_a_form_are_not_parsed_elsewhere() -> None:
    assert json_size(b"12345", CONTENT_TYPE) == 0
    assert json_size(b"12345", JSON) == 5
