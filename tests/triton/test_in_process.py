"""Both compositions, BLS and `--one-model`: the same networks give the same answers and errors."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from orchestrator.contract import ENCODED_CROP, OUTPUTS, PICTURE, STAGE_SECONDS, STAGES
from orchestrator.host.heartbeat import Heartbeat, State, read
from orchestrator.networks.own_files import OwnFile, read_list, write_list
from orchestrator.networks.weights import WEIGHTS
from tests.samples import copy_of
from tests.triton.fake_triton import arguments_of, read_config, total

GREY = np.full((480, 640, 3), 90, np.uint8)
HANG_S = {"yolo": 7.0, "stn": 2.5, "lprnet": 2.5}


class Detector(nn.Module):
    """Finds one plate; the first pixel of a picture can be a fault."""

    def forward(self, pictures: Tensor) -> Tensor:
        fault = int(pictures[0, 0, 0, 0])
        if fault == 1:
            raise RuntimeError("a picture that this network cannot bear")
        if fault == 2:
            raise RuntimeError("bad_alloc: cannot allocate memory")
        width = 3.0 if fault == 3 else 100.0
        row = torch.tensor([100.0, 100.0, 100.0 + width, 125.0, 0.9, 0.0])
        rows = row.repeat(pictures.shape[0], 1, 1)
        return rows[:, :, :5] if fault == 4 else rows


class Rectifier(nn.Module):
    def forward(self, crops: Tensor) -> tuple[Tensor, Tensor]:
        return crops, torch.eye(2, 3).repeat(crops.shape[0], 1, 1)


class Reader(nn.Module):
    def forward(self, crops: Tensor) -> Tensor:
        steps = torch.nn.functional.adaptive_avg_pool2d(crops, [24, 18]).mean(1)
        return 9.0 * steps.abs()


MODULES = {"yolo": Detector, "stn": Rectifier, "lprnet": Reader}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version folder with the networks' files and their list."""
    folder = copy_of("weights", tmp_path_factory.mktemp("model"))
    for name, module in MODULES.items():
        torch.jit.script(module()).save(str(folder / f"{name}.pt"))
    shapes = {"yolo": ((1, 96, 128, 3),), "stn": (), "lprnet": ()}
    write_list(folder, {n: OwnFile(f"{n}.pt", HANG_S[n], shapes[n]) for n in MODULES})
    return folder


@pytest.fixture
def arguments(folder: Path) -> dict[str, str]:
    return {
        "model_config": read_config(),
        "model_repository": str(folder.parent),
        "model_version": folder.name,
        "model_instance_kind": "CPU",
        "model_instance_device_id": "0",
    }


@pytest.fixture
def bls(triton: ModuleType, arguments: dict[str, str]) -> Any:
    """A worker that calls each network in a worker of its own, by our backend for TorchScript."""
    backend = import_module("orchestrator.triton.backends.pytorch.model").TritonPythonModel
    for name, count in {"yolo": 1, "stn": 2, "lprnet": 1}.items():
        worker = backend()
        outputs = [{"name": f"output__{number}", "dims": ["-1"]} for number in range(count)]
        changes = {"default_model_filename": f"{name}.pt", "output": outputs}
        config = arguments_of(Path(), **changes)["model_config"]
        worker.initialize(arguments | {"model_name": name, "model_config": config})
        triton.MODELS[name] = lambda request, worker=worker: worker.execute([request])[0]
    return start(arguments | {"model_repository": str(WEIGHTS.parent)})  # without a list


@pytest.fixture
def alone(triton: ModuleType, arguments: dict[str, str]) -> Any:
    """A worker that runs the networks itself."""
    return start(arguments)


def start(arguments: dict[str, str]) -> Any:
    worker = import_module("orchestrator.triton.plate_recognition").TritonPythonModel()
    worker.initialize(arguments)
    return worker


@pytest.fixture(autouse=True)
def process() -> Iterator[None]:
    """Set back what workers set for their process."""
    np.finfo(np.float32), np.finfo(np.float64)  # NumPy looks at them once, and flushed they warn
    threads = cv2.getNumThreads(), torch.get_num_threads()
    yield
    torch.set_flush_denormal(False)
    cv2.setNumThreads(threads[0])
    torch.set_num_threads(threads[1])


@pytest.fixture
def request_of(triton: ModuleType) -> Callable[..., Any]:
    def make(array: np.ndarray, name: str = PICTURE, **more: Any) -> Any:
        tensors = [triton.Tensor(name, array)]
        omissions = {"corners"} if name == ENCODED_CROP else set()  # a crop has none
        names = [output for output in (*OUTPUTS, STAGE_SECONDS) if output not in omissions]
        return triton.InferenceRequest(inputs=tensors, requested_output_names=names, **more)

    return make


def answer(model: Any, request: Any) -> dict[str, Any]:
    """Return the bytes of every output but the times, or the error."""
    (response,) = model.execute([request])
    if response.has_error():
        return {"error": (response.error().code(), response.error().message())}
    tensors = {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()}
    seconds = dict(zip(STAGES, tensors.pop(STAGE_SECONDS), strict=True))
    stages = {"stages": sorted(stage for stage, took in seconds.items() if took)}
    return stages | {name: array.tolist() for name, array in tensors.items()}


def faulty(fault: int) -> np.ndarray:
    picture = GREY.copy()
    picture[:, :, :] = fault
    return picture


CROP = np.array([cv2.imencode(".png", GREY[:30, :90])[1].tobytes()], np.object_)


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        pytest.param({"array": GREY}, "coordinates", id="a plate"),
        pytest.param({"array": faulty(3)}, "coordinates", id="a plate that is too small to read"),
        pytest.param({"array": CROP, "name": ENCODED_CROP}, "texts", id="a crop"),
        pytest.param({"array": faulty(1)}, "cannot infer on [1, 480, 640, 3]: a pic", id="poison"),
        pytest.param({"array": faulty(2)}, "unavailable", id="no memory"),
        pytest.param({"array": faulty(4)}, "yolo: wanted", id="rows of another shape"),
        pytest.param({"array": GREY, "is_cancelled": True}, "cancelled", id="cancelled"),
        pytest.param({"array": GREY, "parameters": {"a": 1}}, "parameters: wanted", id="parameter"),
    ],
)
def test_both_compositions_answer_alike(
    triton: ModuleType,
    bls: Any,
    alone: Any,
    request_of: Callable[..., Any],
    options: dict[str, Any],
    outcome: str,
) -> None:
    by_others = answer(bls, request_of(**options))
    calls = len(triton.CALLS)
    assert answer(alone, request_of(**options)) == by_others
    assert outcome in str(by_others)
    assert len(triton.CALLS) == calls
    assert total("pictures_total") == 1


def test_a_worker_that_runs_networks_tells_how_long_each_may_take(
    alone: Any, request_of: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, beats = str(tmp_path / "beat_"), {}
    alone.heartbeat = Heartbeat(4.0, prefix)
    networks, hang_s = alone.infer_for.args

    def look(name: str, tensors: Any) -> Any:
        beats[name] = read(prefix, os.getpid())
        return networks(name, tensors)

    monkeypatch.setattr(alone, "infer_for", partial(alone.infer_for.func, look, hang_s))
    alone.execute([request_of(GREY, request_id="gate-7#1-2")])
    assert {name: beat.limit_s for name, beat in beats.items()} == HANG_S
    assert {(beat.state, beat.calls, beat.picture) for beat in beats.values()} == {
        (State.WORKING, ("gate-7#1-2",), "640x480")
    }
    assert read(prefix, os.getpid()).state is State.IDLE


def test_a_list_of_networks_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_list(tmp_path) == {}
    files = {"yolo": OwnFile("yolo.xml", 7.0, ((1, 544, 960, 3), (1, 96, 128, 3)))}
    write_list(tmp_path, files)
    assert read_list(tmp_path) == files
