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
DATA_URL = json.dumps({"upload": f"data:image/jpeg;base64,{TEXT}"}).encode()
UPLOAD = part(FILE, 'form-data; name="upload"; filename="car.jpg"')


def field(name: str, value: str) -> bytes:
    return part(value.encode(), f'form-data; name="{name}"')


def send_body(body: bytes, content_type: str, infer: FakeInfer) -> dict:
    call = take_apart(body, content_type)
    return json.loads(asyncio.run(recognize(call, infer, "one", {})).to_json())


def send_form(*fields: bytes, infer: FakeInfer | None = None) -> dict:
    return send_body(form(*fields), CONTENT_TYPE, infer or FakeInfer())


def send_json(infer: FakeInfer | None = None, **values: object) -> dict:
    return send_body(json.dumps({"upload": TEXT} | values).encode(), JSON, infer or FakeInfer())


def test_a_plate_that_was_read_has_the_fields_of_their_api() -> None:
    infer = FakeInfer([(UNREAD, PLATE, replace(PLATE, format="kz_car"))])
    answer = send_form(UPLOAD, infer=infer)
    first, second = answer["results"]
    assert first == {
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
    assert second["region"]["code"] == "kz"
    assert answer["processing_time"] == 2187.5  # of all stages, in milliseconds
    assert send_form(UPLOAD, infer=FakeInfer([()]))["results"] == []


@pytest.mark.parametrize(
    ("sent_time", "answered_time"),
    [
        ("2026-05-17T09:30:00", "2026-05-17T09:30:00"),
        ("2026-05-17 09:30:00", "2026-05-17T09:30:00"),
        ("2026-05-17T09:30:00.5Z", "2026-05-17T09:30:00.5Z"),
    ],
)
def test_labels_come_back_with_times_as_their_clients_write_them(
    sent_time: str, answered_time: str
) -> None:
    answer = send_form(UPLOAD, field("camera_id", "въезд 7"), field("timestamp", sent_time))
    assert (answer["filename"], answer["version"]) == ("car.jpg", 1)
    assert (answer["camera_id"], answer["timestamp"]) == ("въезд 7", answered_time)
    assert send_json(camera_id=7)["camera_id"] == "7"


def test_without_labels_the_camera_is_null_and_the_time_that_of_the_answer() -> None:
    start = datetime.now(timezone.utc) - timedelta(milliseconds=1)
    answer = send_form(UPLOAD)
    assert answer["camera_id"] is None
    assert answer["timestamp"].endswith("Z")
    answer_time = datetime.fromisoformat(answer["timestamp"].replace("Z", "+00:00"))
    assert start <= answer_time <= datetime.now(timezone.utc)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        pytest.param(form(UPLOAD), CONTENT_TYPE, id="file"),
        pytest.param(form(field("upload", TEXT)), CONTENT_TYPE, id="base64 in a form"),
        pytest.param(urlencode({"upload": TEXT}).encode(), ENCODED_FORM, id="encoded form"),
        pytest.param(json.dumps({"upload": TEXT}).encode(), JSON, id="JSON"),
        pytest.param(DATA_URL, "application/json; charset=utf-8", id="data URL"),
    ],
)
def test_a_picture_comes_in_any_of_these_forms(body: bytes, content_type: str) -> None:
    infer = FakeInfer()
    assert send_body(body, content_type, infer)["results"][0]["plate"] == "a123bc77"
    assert infer.calls[0].inputs == (PictureFile("encoded_image", FILE),)
    is_parsed_elsewhere = content_type != CONTENT_TYPE
    assert json_size(body, content_type) == len(body) * is_parsed_elsewhere


OTHERS = {"mode": "fast", "region": "strict", "detection_mode": "plate"}
THRESHOLDS = {"threshold_d": 0.5, "threshold_o": 0.25}
OURS = {"detection_threshold": "0.5", "text_threshold": "0.25"}


@pytest.mark.parametrize(
    ("fields", "parameters"),
    [
        pytest.param({"config": json.dumps(THRESHOLDS)}, OURS, id="text"),
        pytest.param({"config": THRESHOLDS}, OURS, id="object"),
        pytest.param({"config": json.dumps(THRESHOLDS | OTHERS)}, OURS, id="with others"),
        pytest.param({"config": "", "camera_id": ""}, {}, id="empty"),
        pytest.param({"regions": ["ru", "kz"], "region": "ru", "mmc": True}, {}, id="unknown"),
    ],
)
def test_thresholds_of_their_configuration_are_ours(
    fields: dict[str, object], parameters: dict[str, str]
) -> None:
    infer = FakeInfer()
    send_json(infer, **fields)
    assert infer.calls[0].parameters == parameters


def test_fields_of_a_form_that_come_twice_or_are_unknown_are_ignored() -> None:
    infer = FakeInfer()
    regions = [field("regions", "ru"), field("regions", "kz")]
    send_form(UPLOAD, *regions, field("mmc", "true"), field("config", ""), infer=infer)
    assert infer.calls[0].parameters == {}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"config": "{"}, "config: wanted JSON, got a damaged one"),
        ({"config": "[]"}, "config: wanted a JSON object, got list"),
        ({"config": "null"}, "config: wanted a JSON object, got NoneType"),
        ({"config": []}, r"config: wanted an object, got \[\]"),
        ({"config": {"threshold_d": 2}}, "config.threshold_d: wanted at most 1"),
        ({"config": {"detection_mode": "vehicle"}}, "detection_mode: wanted 'plate', got 'vehicle"),
        ({"camera_id": "a" * 101}, "camera_id: wanted up to 100"),
        ({"camera_id": []}, "camera_id"),
        ({"timestamp": "now"}, "timestamp: wanted an ISO 8601 time"),
        ({"upload": None}, "upload: wanted a picture's base64 text, got none"),
        ({"upload": 7}, "base64 text, got int"),
        (
            {"upload": None, "upload_url": "http://192.0.2.1/a.jpg"},
            "upload: wanted the picture, got upload_url; this service fetches nothing",
        ),
        *(
            ({"upload": text}, "wanted a JPEG, PNG, WebP or BMP file")
            for text in ("", "no base64", b64encode(b"GIF89a").decode())
        ),
    ],
)
def test_a_wrong_field_is_refused_before_the_model(values: dict, message: str) -> None:
    infer = FakeInfer()
    with pytest.raises((ParameterError, PictureError), match=message):
        send_json(infer, **values)
    assert infer.calls == []


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "message"),
    [
        (b"{", JSON, ParameterError, "body: wanted JSON, got a damaged one"),
        (b"[]", JSON, ParameterError, "body: wanted a JSON object, got list"),
        (b"[" * 5000, JSON, ParameterError, "body: wanted JSON, got a damaged one"),
        (b"upload=%ff", ENCODED_FORM, ParameterError, "got a damaged one"),
        (b"upload=\xff", ENCODED_FORM, ParameterError, "got a damaged one"),
        (b"a=1&" * 70, ENCODED_FORM, ParameterError, "got a damaged one"),
        (b"%41" * 1500, ENCODED_FORM, ParameterError, "got 1500 escapes; send files as"),
        (form(), CONTENT_TYPE, FormError, "wanted a field named upload, got none"),
        (form(field("picture", "x")), CONTENT_TYPE, FormError, "wanted a field named upload"),
        (form(UPLOAD, UPLOAD), CONTENT_TYPE, FormError, "wanted 1 to 1 pictures, got more"),
        (form(UPLOAD, *[field("a", "")] * 65), CONTENT_TYPE, FormError, "got more"),
        *(
            (FILE, kind, UnsupportedMedia, "wanted multipart/form-data or application/json")
            for kind in ("", "image/jpeg", "text/plain")
        ),
    ],
)
def test_a_damaged_body_is_refused(
    body: bytes, content_type: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        take_apart(body, content_type)
