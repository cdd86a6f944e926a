"""The Triton model itself: each request gets its own response."""

import json
import os
import struct
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest
import torch
from google.protobuf import json_format, text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from orchestrator.contract import OUTPUTS, STAGES
from orchestrator.formats.plate_formats import russian
from orchestrator.host.heartbeat import Heartbeat, State, read
from orchestrator.networks.weights import WEIGHTS
from orchestrator.plates import Plate, PlateCountry, Plates
from tests.triton.fake_triton import observed, total

CONFIG = Path(__file__).parents[2] / "model_repository" / "plate_recognition" / "config.pbtxt"
GREY = np.full((480, 640, 3), 90, np.uint8)
EVERYTHING = [
    "coordinates",
    "texts",
    "detection_scores",
    "text_scores",
    "raw_texts",
    "character_scores",
    "candidates",
    "candidate_scores",
    "corners",
    "formats",
]
PLATE = [100.0, 100.0, 200.0, 125.0, 0.9, 0.0]
"""Row of the detector: a box, a score, a class. So small a picture is not scaled."""


def read_config() -> str:
    """Return the model's config.pbtxt as Triton tells it to a worker."""
    config = text_format.Parse(CONFIG.read_text(), ModelConfig())
    return json_format.MessageToJson(config, preserving_proto_field_name=True)


@pytest.fixture
def networks(triton: ModuleType) -> ModuleType:
    """Networks that find one plate, straight, of which nothing can be read."""

    def respond(*arrays: np.ndarray):
        return triton.InferenceResponse(
            [triton.Tensor(f"output__{index}", array) for index, array in enumerate(arrays)]
        )

    def straighten(request):
        crops = request.inputs()[0].as_numpy()
        theta = np.tile(np.eye(2, 3, dtype=np.float32), (len(crops), 1, 1))
        return respond(crops, theta)

    triton.MODELS["yolo"] = lambda _: respond(np.array([[PLATE]], np.float32))
    triton.MODELS["stn"] = straighten
    triton.MODELS["lprnet"] = lambda request: respond(
        np.zeros((len(request.inputs()[0].as_numpy()), russian().classes, 18), np.float32)
    )
    return triton


@pytest.fixture
def model(networks: ModuleType):
    """A worker that has been started; what it sets for its process is set back."""
    cv2_threads = cv2.getNumThreads()
    worker = import_module("orchestrator.triton.plate_recognition").TritonPythonModel()
    worker.initialize(
        {
            "model_config": read_config(),
            "model_repository": str(WEIGHTS.parent),  # there lies what plates may say
            "model_version": WEIGHTS.name,
            "model_instance_kind": "CPU",
            "model_instance_device_id": "0",
        }
    )
    yield worker
    cv2.setNumThreads(cv2_threads)


@pytest.fixture
def request_of(triton):
    """Make a request of tensors."""

    def make(outputs: list[str] = EVERYTHING, request_id: str = "", parameters=None, **inputs):
        tensors = [triton.Tensor(name, array) for name, array in inputs.items()]
        return triton.InferenceRequest(
            inputs=tensors,
            requested_output_names=outputs,
            request_id=request_id,
            parameters=parameters,
        )

    return make


def arrays(response) -> dict[str, list]:
    return {tensor.name(): tensor.as_numpy().tolist() for tensor in response.output_tensors()}


def list_calls(triton) -> list[str]:
    return [request.model_name() for request in triton.CALLS]


def test_a_picture_is_answered_with_every_output_and_counted(model, request_of) -> None:
    (response,) = model.execute([request_of(input__0=GREY)])
    answer = arrays(response)
    assert list(answer) == EVERYTHING
    assert answer["coordinates"] == [[100, 100, 200, 125]]
    assert answer["texts"] == [[b""]]
    assert (total("pictures_total"), total("found_total")) == (1, 1)
    assert len(observed("stage_seconds", "lprnet")) == 1


def test_the_country_is_told_to_those_who_name_its_outputs(model, request_of, monkeypatch) -> None:
    plate = Plate((1, 2, 3, 4), text="123ABC02", country=PlateCountry("kz", 0.5))
    monkeypatch.setattr(f"{type(model).__module__}.recognize", lambda *_, **__: Plates((plate,)))
    names = ["countries", "country_scores"]
    first, second = model.execute(
        [request_of(names, input__0=GREY), request_of(["texts"], input__0=GREY)]
    )
    assert arrays(first) == {"countries": [[b"kz"]], "country_scores": [[0.5]]}
    assert arrays(second) == {"texts": [[b"123ABC02"]]}


def test_a_worker_leaves_the_cores_to_the_networks(model) -> None:
    assert cv2.getNumThreads() == 1


def test_the_time_of_each_stage_is_told(model, networks, request_of) -> None:
    find = networks.MODELS["yolo"]
    networks.MODELS["yolo"] = lambda request: time.sleep(0.05) or find(request)
    (response,) = model.execute([request_of(["texts", "stage_seconds"], input__0=GREY)])
    seconds = dict(zip(STAGES, arrays(response)["stage_seconds"], strict=True))
    assert seconds["yolo"] >= 0.05
    assert all(stage_s > 0 for stage_s in seconds.values())
    networks.MODELS["yolo"] = lambda request: networks.InferenceResponse(
        [networks.Tensor("output__0", np.zeros((1, 0, 6), np.float32))]
    )
    (response,) = model.execute([request_of(["texts", "stage_seconds"], input__0=GREY)])
    assert arrays(response)["stage_seconds"][STAGES.index("lprnet")] == 0


def test_a_worker_says_what_it_is_doing_and_that_it_waits_for_another_model(
    model, networks, request_of, tmp_path
) -> None:
    prefix = str(tmp_path / "beat_")
    model.heartbeat = Heartbeat(2.5, prefix)
    find, beats = networks.MODELS["yolo"], []
    networks.MODELS["yolo"] = lambda request: (
        beats.append(read(prefix, os.getpid())) or find(request)
    )
    model.execute([request_of(input__0=GREY, request_id="gate-7#1-2")])
    assert [(beat.state, beat.calls, beat.picture) for beat in beats] == [
        (State.WAITING, ("gate-7#1-2",), "640x480")
    ]
    assert read(prefix, os.getpid()).state is State.IDLE


@pytest.mark.parametrize(
    ("sides", "size", "limit_s"),
    [
        pytest.param((1, 1), 20_000_000, 4.5, id="bytes"),
        pytest.param((5000, 4000), 100, 3.0, id="pixels"),
    ],
)
def test_a_large_file_may_take_longer_to_decode(
    model, request_of, tmp_path, monkeypatch, sides: tuple[int, int], size: int, limit_s: float
) -> None:
    prefix, beats = str(tmp_path / "beat_"), []
    model.heartbeat = Heartbeat(2.5, prefix)

    def look(file: bytes, _: object) -> np.ndarray:
        beats.append(read(prefix, os.getpid()))
        return GREY

    monkeypatch.setattr(model.device, "decode", look)
    file = (b"BM" + struct.pack("<12xIii", 40, *sides)).ljust(size, b"x")
    model.execute([request_of(encoded_image=np.array([file], np.object_))])
    assert [beat.picture for beat in beats] == [f"a file of {size} bytes"]
    assert beats[0].limit_s == pytest.approx(limit_s, abs=1e-4)


def test_a_picture_file_is_answered_like_its_pixels(model, request_of) -> None:
    _, png = cv2.imencode(".png", GREY)
    file = np.array([png.tobytes()], np.object_)
    (response,) = model.execute([request_of(["coordinates"], encoded_image=file)])
    assert arrays(response) == {"coordinates": [[100, 100, 200, 125]]}


@pytest.mark.parametrize(
    ("outputs", "networks_run"),
    [
        pytest.param(["coordinates"], ["yolo"], id="boxes"),
        pytest.param(["corners", "detection_scores"], ["yolo", "stn"], id="corners"),
        # In the plate nothing is read: another look would not pay.
        pytest.param(["texts"], ["yolo", "stn", "lprnet"], id="texts"),
        pytest.param(["coordinates", "stage_seconds"], ["yolo"], id="boxes and times"),
    ],
)
def test_only_what_is_asked_for_is_computed_and_answered(
    model, triton, request_of, outputs: list[str], networks_run: list[str]
) -> None:
    (response,) = model.execute([request_of(outputs, input__0=GREY)])
    assert list(arrays(response)) == outputs
    assert list_calls(triton) == networks_run


def test_parameters_are_those_of_their_request_alone(model, request_of) -> None:
    strict = request_of(["coordinates"], parameters={"detection_threshold": 0.95}, input__0=GREY)
    plain = request_of(["coordinates"], input__0=GREY)
    first, second = model.execute([strict, plain])
    assert arrays(first) == {"coordinates": []}
    assert arrays(second) == {"coordinates": [[100, 100, 200, 125]]}


def test_of_several_requests_the_bad_one_alone_fails_and_order_is_kept(
    model, triton, request_of
) -> None:
    good = request_of(["coordinates"], input__0=GREY)
    bad = request_of(input__0=np.zeros((4, 4), np.uint8))
    late = request_of(["detection_scores"], input__0=GREY)
    first, second, third = model.execute([good, bad, late])
    assert list(arrays(first)) == ["coordinates"]
    assert second.error().code() == triton.TritonError.INVALID_ARG
    assert list(arrays(third)) == ["detection_scores"]
    assert (total("pictures_total"), total("errors_total", "picture")) == (3, 1)


@pytest.mark.parametrize(
    ("inputs", "got"),
    [
        pytest.param({}, "none", id="none"),
        pytest.param(
            {"input__0": GREY, "encoded_image": np.array([b"x"], np.object_)},
            "input__0 and encoded_image",
            id="both",
        ),
    ],
)
def test_a_request_has_exactly_one_picture(model, triton, request_of, inputs, got: str) -> None:
    (response,) = model.execute([request_of(**inputs)])
    assert response.error().code() == triton.TritonError.INVALID_ARG
    assert response.error().message() == (
        f"inputs: wanted exactly one of input__0 and encoded_image, got {got}"
    )


def crop_file() -> np.ndarray:
    return np.array([cv2.imencode(".png", GREY[:30, :90])[1].tobytes()], np.object_)


def test_a_crop_is_read_and_not_looked_for(model, triton, request_of) -> None:
    del triton.MODELS["yolo"]
    outputs = ["coordinates", "texts", "detection_scores"]
    (response,) = model.execute([request_of(outputs, encoded_crop=crop_file())])
    assert arrays(response) == {
        "coordinates": [[0, 0, 90, 30]],
        "texts": [[b""]],
        "detection_scores": [[0]],
    }


def test_a_crop_has_every_output_of_a_picture(model, request_of) -> None:
    (response,) = model.execute([request_of([*OUTPUTS], encoded_crop=crop_file())])
    assert {name: len(rows) for name, rows in arrays(response).items()} == dict.fromkeys(OUTPUTS, 1)


def test_a_crop_takes_no_parameter_of_the_detector(model, triton, request_of) -> None:
    request = request_of(parameters={"max_plates": 1}, encoded_crop=crop_file())
    (response,) = model.execute([request])
    assert response.error().code() == triton.TritonError.INVALID_ARG
    assert "wanted some of text_threshold, got max_plates" in response.error().message()


def test_an_unknown_parameter_is_the_callers_fault(model, triton, request_of) -> None:
    (response,) = model.execute([request_of(parameters={"speed": 1}, input__0=GREY)])
    assert response.error().code() == triton.TritonError.INVALID_ARG
    assert total("errors_total", "parameter") == 1


def test_what_its_caller_has_given_up_is_told_so_and_counted(model, triton, request_of) -> None:
    tensor = triton.Tensor("input__0", GREY)
    request = triton.InferenceRequest(inputs=[tensor], is_cancelled=True)
    (response,) = model.execute([request])
    assert response.error().code() == triton.TritonError.CANCELLED
    assert total("errors_total", "cancelled") == 1


def test_a_fault_of_ours_is_internal_and_logged_with_its_place(
    model, triton, request_of, capfd
) -> None:
    triton.MODELS["yolo"] = lambda _: 1 / 0
    (response,) = model.execute([request_of(request_id="gate-7", input__0=GREY)])
    assert response.error().code() == triton.TritonError.INTERNAL
    assert response.error().message() == "ZeroDivisionError: division by zero"
    line = json.loads(capfd.readouterr().err)
    assert (line["request_id"], line["reason"]) == ("gate-7", "internal")
    assert "test_plate_recognition.py" in line["traceback"]
    assert total("errors_total", "internal") == 1


def test_a_worker_with_a_broken_cuda_context_ends(
    model, triton, request_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def end(status: int) -> None:
        raise SystemExit(status)

    triton.MODELS["yolo"] = fail
    monkeypatch.setattr("os._exit", end)
    with pytest.raises(SystemExit):
        model.execute([request_of(input__0=GREY)])


def test_a_call_without_memory_is_rejected_and_leaves_its_own_to_others(
    model, triton, request_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    emptied_caches: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied_caches.append(True))
    triton.MODELS["yolo"] = fail
    (response,) = model.execute([request_of(input__0=GREY)])
    assert response.error().code() == triton.TritonError.UNAVAILABLE
    assert emptied_caches == [True]


@pytest.mark.parametrize("picture", [GREY, np.zeros(3, np.uint8)], ids=["answered", "failed"])
def test_a_probe_is_no_picture(model, request_of, picture: np.ndarray) -> None:
    model.execute([request_of(request_id="probe", input__0=picture)])
    assert total("pictures_total") == 0
    assert total("errors_total", "picture") == 0
