"""Unchanged clients through the gateway: they get the same answers as from Triton itself."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

from orchestrator.client import PlateClient
from orchestrator.contract import MODEL, OUTPUTS
from orchestrator.formats.transliteration import to_latin
from orchestrator.serving.supervisor.triton_server import Server
from tests.integration.conftest import InFront, Wire
from tests.samples import STREET
from tests.samples import TEXTS as BEST_FIRST

TEXTS = sorted(BEST_FIRST)


@pytest.fixture(params=["http", "grpc"])
def way(request: pytest.FixtureRequest, gateway: InFront) -> Wire:
    """A protocol of the gateway."""
    options = gateway.options
    if request.param == "http":
        return Wire(tritonclient.http, str(options.http), str(options.http))
    return Wire(tritonclient.grpc, str(options.grpc), f"grpc://{options.grpc}")


@pytest.fixture
def through(way: Wire) -> object:
    with way.module.InferenceServerClient(way.address) as client:
        yield client


@pytest.fixture
def straight(way: Wire, server: Server) -> object:
    is_http = way.module is tritonclient.http
    address = server.options.http_url if is_http else server.options.grpc_url
    with way.module.InferenceServerClient(address) as client:
        yield client


def test_answers_are_those_of_triton(way: Wire, through: object, straight: object) -> None:
    street = cv2.imread(str(STREET))
    here, there = (client.infer(MODEL, [way.pixels(street)]) for client in (through, straight))
    for name in OUTPUTS:
        np.testing.assert_array_equal(here.as_numpy(name), there.as_numpy(name))


@pytest.mark.parametrize("model", ["plate_recognition", "plate_reader"])
def test_models_say_what_triton_says(through: object, straight: object, model: str) -> None:
    for ask in ("get_model_metadata", "get_model_config"):
        assert getattr(through, ask)(model) == getattr(straight, ask)(model)
    assert through.is_model_ready(model)


def test_the_server_is_live_and_ready_and_says_that_it_is_the_gateway(through: object) -> None:
    assert through.is_server_live()
    assert through.is_server_ready()
    metadata = through.get_server_metadata()
    members = metadata if isinstance(metadata, dict) else {"name": metadata.name}
    assert members["name"] == "plates"


def test_ids_come_back_and_parameters_reach_the_model(way: Wire, through: object) -> None:
    picture = way.file(STREET.read_bytes())
    answer = through.infer(MODEL, [picture], request_id="gate-7", parameters={"max_plates": 1})
    response = answer.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "gate-7"
    assert answer.as_numpy("texts").shape == (1, 1)


def test_json_without_binary_data_is_answered_alike(gateway: InFront, server: Server) -> None:
    street = cv2.imread(str(STREET))
    texts = []
    for address in (str(gateway.options.http), server.options.http_url):
        tensor = tritonclient.http.InferInput("input__0", list(street.shape), "UINT8")
        tensor.set_data_from_numpy(street, binary_data=False)
        output = tritonclient.http.InferRequestedOutput("texts", binary_data=False)
        with tritonclient.http.InferenceServerClient(address) as client:
            answer = client.infer(MODEL, [tensor], outputs=[output])
        texts.append(sorted(answer.as_numpy("texts").ravel()))
    assert texts[0] == texts[1] == TEXTS


@dataclass(frozen=True)
class RestReply:
    """Response of the REST API."""

    status: int
    type: str
    content: dict


def post(gateway: InFront, path: str, body: bytes, **headers: str) -> RestReply:
    url = f"http://{gateway.options.http}{path}"
    request = urllib.request.Request(
        url, body, {name.replace("_", "-"): value for name, value in headers.items()}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return RestReply(answer.status, answer.headers["content-type"], json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return RestReply(error.code, error.headers["content-type"], json.load(error))


def test_rest_reads_a_picture(gateway: InFront) -> None:
    reply = post(gateway, "/v1/recognize", STREET.read_bytes())
    (picture,) = reply.content["pictures"]
    assert (reply.status, reply.type) == (200, "application/json")
    assert sorted(plate["text"] for plate in picture["plates"]) == TEXTS
    natives = sorted(to_latin(plate["text_native"]) for plate in picture["plates"])
    assert (natives, picture["width"], picture["height"]) == (TEXTS, 1280, 960)


def test_rest_reads_a_crop(gateway: InFront, server: Server, tmp_path: Path) -> None:
    with PlateClient(server.options.http_url) as direct:
        plate = direct.recognize(STREET)[0]
    x0, y0, x1, y1 = (round(side) for side in plate.xyxy)
    crop = cv2.imencode(".png", cv2.imread(str(STREET))[y0:y1, x0:x1])[1].tobytes()
    (picture,) = post(gateway, "/v1/read", crop).content["pictures"]
    assert picture["plate"]["text"] == plate.text


def test_metrics_of_both_are_on_one_page(gateway: InFront) -> None:
    with urllib.request.urlopen(f"http://{gateway.options.metrics}/metrics") as answer:
        page = answer.read().decode()
    assert "plates_gateway_calls_total{" in page
    assert "nv_inference_request_success{" in page
