"""Recognizers with scripted networks: their results, formats and names."""

import shutil
from pathlib import Path

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import COUNTRIES, RUSSIA, Formats, PlateFormat
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS, list_sums
from orchestrator.settings import Settings
from tests.scripted_networks import ALPHABET, ScriptedInfer, picture, rows
from workshop.evaluation.datasets import LabelledPlate, Scene
from workshop.evaluation.outcomes import judge
from workshop.evaluation.recognizers import RecognizerOptions, name_engines, recognize_here

LONG, SQUARE = PlateFormat("long", ("LDDDLL",)), PlateFormat("square", ("DDD/LLL",))
BOTH = Formats(ALPHABET, (LONG, SQUARE))
WIDE_BOX = (100.0, 100.0, 200.0, 125.0, 0.9)
SQUARE_BOX = (300.0, 100.0, 360.0, 140.0, 0.8)


def test_a_plate_of_two_lines_is_judged() -> None:
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), ("A001AA", "", *["123ABC"] * 3))
    plates = recognize_here(infer, Settings(), BOTH).read(picture())
    label = LabelledPlate("123ABC", "std", (290.0, 90.0, 370.0, 150.0))
    (outcome,) = judge(Scene(Path("a.jpg"), (label,)), plates)
    assert outcome.verdict == "read"


def test_formats_of_a_running_server_are_what_was_given() -> None:
    kazakh = COUNTRIES / "kazakhstan" / "formats.toml"
    assert RecognizerOptions(url="host:8000", formats=kazakh).choose_formats() == kazakh
    assert RecognizerOptions(url="host:8000").choose_formats() == RUSSIA
    with pytest.raises(WeightsError, match="wanted plate formats in the alphabet"):
        RecognizerOptions(formats=kazakh).choose_formats()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        pytest.param(RecognizerOptions(), "ours", id="own"),
        pytest.param(RecognizerOptions(weights=WEIGHTS), "ours", id="own folder"),
        pytest.param(RecognizerOptions(weights=Path("runs/atlantis/")), "atlantis", id="folder"),
        pytest.param(RecognizerOptions(url="host:8000"), "host:8000", id="server"),
        pytest.param(
            RecognizerOptions(checkpoints={"stn": Path("x.pth"), "lprnet": Path("y.pth")}),
            "ours with other stn, lprnet",
            id="other networks",
        ),
    ],
)
def test_a_report_bears_the_name_of_what_recognised(options: RecognizerOptions, name: str) -> None:
    assert options.name == name


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
