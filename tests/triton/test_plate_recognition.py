"""The Triton model itself: each request gets its own response."""

import json
import os
import struct
import time
from importlib import import_module
from types import ModuleType

import cv2
import numpy as np
import pytest
import torch

from orchestrator.contract import OUTPUTS, STAGES
from orchestrator.host.heartbeat import Heartbeat, State, read
from orchestrator.networks.weights import WEIGHTS
from orchestrator.plates import Plate, PlateCountry, Plates
from tests.triton.fake_triton import arrays_of, observed, read_config, total

GREY = np.full((480, 640, 3), 90, np.uint8)
EVERYTHING = [*OUTPUTS]


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


def list_calls(triton) -> list[str]:
    return [request.model_name() for request in triton.CALLS]


def test_a_picture_is_answered_with_every_output_and_counted(model, request_of) -> None:
    (response,) = model.execute([request_of(input__0=GREY)])
    answer = arrays_of(response)
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
    assert arrays_of(first) == {"countries": [[b"kz"]], "country_scores": [[0.5]]}
    assert arrays_of(second) == {"texts": [[b"123ABC02"]]}


def test_a_worker_leaves_the_cores_to_the_networks(model) -> None:
    assert cv2.getNumThreads() == 1


def test_the_time_of_each_stage_is_told(model, networks, request_of) -> None:
    find = networks.MODELS["yolo"]
    networks.MODELS["yolo"] = lambda request: time.sleep(0.05) or find(request)
    (response,) = model.execute([request_of(["texts", "stage_seconds"], input__0=GREY)])
    seconds = dict(zip(STAGES, arrays_of(response)["stage_seconds"], strict=True))
    assert seconds["yolo"] >= 0.05
    assert all(stage_s > 0 for stage_s in seconds.values())
    networks.MODELS["yolo"] = lambda request: networks.InferenceResponse(
        [networks.Tensor("output__0", np.zeros((1, 0, 6), np.float32))]
    )
    (response,) = model.execute([request_of(["texts", "stage_seconds"], input__0=GREY)])
    assert arrays_of(response)["stage_seconds"][STAGES.index("lprnet")] == 0


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
    assert arrays_of(response) == {"coordinates": [[100, 100, 200, 125]]}


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
    assert list(arrays_of(response)) == outputs
    assert list_calls(triton) == networks_run


def test_parameters_are_those_of_their_request_alone(model, request_of) -> None:
    strict = request_of(["coordinates"], parameters={"detection_threshold": 0.95}, input__0=GREY)
    plain = request_of(["coordinates"], input__0=GREY)
    first, second = model.execute([strict, plain])
    assert arrays_of(first) == {"coordinates": []}
    assert arrays_of(second) == {"coordinates": [[100, 100, 200, 125]]}


def test_of_several_requests_the_bad_one_alone_fails_and_order_is_kept(
    model, triton, request_of
) -> None:
    good = request_of(["coordinates"], input__0=GREY)
    bad = request_of(input__0=np.zeros((4, 4), np.uint8))
    late = request_of(["detection_scores"], input__0=GREY)
    first, second, third = model.execute([good, bad, late])
    assert list(arrays_of(first)) == ["coordinates"]
    assert second.error().code() == triton.TritonError.INVALID_ARG
    assert list(arrays_of(third)) == ["detection_scores"]
    assert (total("pictures_total"), total("errors_total", "picture")) == (3, 1)


def crop_file() -> np.ndarray:
    return np.array([cv2.imencode(".png", GREY[:30, :90])[1].tobytes()], np.object_)


def test_a_crop_is_read_and_not_looked_for(model, triton, request_of) -> None:
    del triton.MODELS["yolo"]
    outputs = ["coordinates", "texts", "detection_scores"]
    (response,) = model.execute([request_of(outputs, encoded_crop=crop_file())])
    assert arrays_of(response) == {
        "coordinates": [[0, 0, 90, 30]],
        "texts": [[b""]],
        "detection_scores": [[0]],
    }


def test_a_crop_has_every_output_of_a_picture(model, request_of) -> None:
    (response,) = model.execute([request_of(encoded_crop=crop_file())])
    counts = {name: len(rows) for name, rows in arrays_of(response).items()}
    assert counts == dict.fromkeys(OUTPUTS, 1)


@pytest.mark.parametrize(
    ("changes", "message", "reason"),
    [
        pytest.param({}, "one of input__0 and encoded_image, got none", "picture", id="no-picture"),
        pytest.param(
            {"input__0": GREY, "encoded_image": np.array([b"x"], np.object_)},
            "inputs: wanted exactly one of input__0 and encoded_image, got input__0 and encoded",
            "picture",
            id="two-pictures",
        ),
        pytest.param(
            {"parameters": {"max_plates": 1}, "encoded_crop": crop_file()},
            "wanted some of text_threshold, got max_plates",
            "parameter",
            id="parameter-of-the-detector-for-a-crop",
        ),
        pytest.param(
            {"parameters": {"speed": 1}, "input__0": GREY}, "got speed", "parameter", id="unknown"
        ),
    ],
)
def test_a_wrong_request_is_its_callers_fault(
    model, triton, request_of, changes, message: str, reason: str
) -> None:
    (response,) = model.execute([request_of(**changes)])
    assert response.error().code() == triton.TritonError.INVALID_ARG
    assert message in response.error().message()
    assert total("errors_total", reason) == 1


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
