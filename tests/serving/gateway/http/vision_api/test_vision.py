"""`/v1/vision/alpr`, and other calls as the clients of home automation send them."""

import asyncio
import json
from dataclasses import replace

import pytest
import requests

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.http.snapshot_api import snapshot, snapshot_bodies
from orchestrator.serving.gateway.http.vision_api.vision import recognize, take_apart
from orchestrator.serving.protocol.inference import PictureFile
from tests.serving.gateway.http.rest_fakes import PLATE, UNREAD, FakeInfer, picture_file

FILE = picture_file()
LOW = replace(PLATE, text="B777BB77", text_score=0.5)


def call(infer: FakeInfer, **arguments: object) -> dict:
    """Send a call as a client encodes it, and return the answer."""
    request = requests.Request("POST", "http://localhost/", **arguments).prepare()
    vision_call = take_apart(request.body, request.headers["content-type"])
    return json.loads(asyncio.run(recognize(vision_call, infer, "one", {})).to_json())


def test_a_plate_has_the_fields_of_their_api() -> None:
    box = {"x_min": 10, "y_min": 20, "x_max": 110, "y_max": 45}
    plate = {"confidence": 0.875, "label": "A123BC77", "plate": "A123BC77"}
    assert call(FakeInfer([(UNREAD, PLATE)]), files={"upload": FILE}) == {
        "success": True,
        "code": 200,
        "predictions": [plate | box],
        "message": "A123BC77",
        "inferenceMs": 2188,
        "processMs": 2188,
        "moduleId": "ALPR",
        "command": "alpr",
    }
    assert call(FakeInfer([()]), files={"upload": FILE})["predictions"] == []


BLUE_IRIS = {"image": ("snapshot.jpg", FILE, "image/jpeg")}, {
    "min_confidence": "0.40", "operation": "plate"
}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "fields"),
    [
        pytest.param({"upload": FILE}, {}, id="frigate_plate_recognizer 1.8"),
        pytest.param(*BLUE_IRIS, id="Blue Iris 5"),
    ],
)
def test_a_call_of_a_client_is_answered(files: dict, fields: dict) -> None:
    infer = FakeInfer()
    assert call(infer, files=files, data=fields)["predictions"][0]["plate"] == "A123BC77"
    assert infer.calls[0].inputs == (PictureFile("encoded_image", FILE),)


def test_a_plate_below_the_least_score_is_left_out() -> None:
    answer = call(FakeInfer([(LOW, PLATE)]), files={"image": FILE}, data={"min_confidence": "0.6"})
    assert [plate["plate"] for plate in answer["predictions"]] == ["A123BC77"]


@pytest.mark.parametrize("score", ["1.5", "-0.1", "nan", "much"])
def test_a_wrong_score_is_told(score: str) -> None:
    with pytest.raises(ParameterError, match=f"min_confidence: wanted 0 to 1, got {score}"):
        call(FakeInfer(), files={"image": FILE}, data={"min_confidence": score})


def test_a_call_of_hass_plate_recognizer_is_answered() -> None:
    fields = {"regions": ["ru"], "camera_id": "platerecognizer_gate", "mmc": False}
    values = {**fields, "config": json.dumps({"region": "strict"})}
    request = requests.Request("POST", "http://localhost/", data=values, files={"upload": FILE})
    prepared = request.prepare()
    snapshot_call = snapshot_bodies.take_apart(prepared.body, prepared.headers["content-type"])
    answer = asyncio.run(snapshot.recognize(snapshot_call, FakeInfer(), "one", {}))
    (result,) = json.loads(answer.to_json())["results"]
    assert (result["plate"], result["score"], result["region"]["code"]) == ("a123bc77", 0.875, "ru")
