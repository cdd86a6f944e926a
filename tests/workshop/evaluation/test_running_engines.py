import shutil
from pathlib import Path

import pytest
import torch

from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS, list_sums
from workshop.evaluation.running_engines import name_engines


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    shutil.copytree(WEIGHTS, folder)
    return folder


def test_detector_and_reader_have_8_bit_forms(copied: Path) -> None:
    assert name_engines(Engine.OPENVINO_INT8, copied) == {
        "yolo": Engine.OPENVINO_INT8,
        "stn": Engine.OPENVINO,
        "lprnet": Engine.OPENVINO_INT8,
    }


@pytest.mark.parametrize("engine", [Engine.OPENVINO, Engine.TORCHSCRIPT])
def test_engines_of_floats_run_every_network(copied: Path, engine: Engine) -> None:
    assert name_engines(engine, copied) == dict.fromkeys(("yolo", "stn", "lprnet"), engine)


def test_the_8_bit_form_of_another_detector_does_not_run(copied: Path) -> None:
    state = torch.load(copied / "yolo.pt", weights_only=True)
    torch.save({name: tensor * 2 for name, tensor in state.items()}, copied / "yolo.pt")
    list_sums(copied)
    assert name_engines(Engine.OPENVINO_INT8, copied)["yolo"] is Engine.OPENVINO


def test_somebody_elses_detector_is_torchscript(copied: Path) -> None:
    traced = torch.jit.trace(torch.nn.Linear(1, 1), torch.zeros(1, 1))
    torch.jit.save(traced, copied / "yolo.pt")
    list_sums(copied)
    assert name_engines(Engine.OPENVINO_INT8, copied) == {
        "yolo": Engine.TORCHSCRIPT,
        "stn": Engine.OPENVINO,
        "lprnet": Engine.OPENVINO_INT8,
    }
