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
from workshop.evaluation.recognizers import RecognizerOptions, name_engines, recognize_here

LONG, SQUARE = PlateFormat("long", ("LDDDLL",)), PlateFormat("square", ("DDD/LLL",))
BOTH, SQUARE_ONLY = Formats(ALPHABET, (LONG, SQUARE)), Formats(ALPHABET, (SQUARE,))
LONG_ONLY = Formats(ALPHABET, (LONG,))
WIDE_BOX = (100.0, 100.0, 200.0, 125.0, 0.9)
SQUARE_BOX = (300.0, 100.0, 360.0, 140.0, 0.8)


@pytest.mark.parametrize(
    ("formats", "read_texts", "free_texts"),
    [
        # The flat crops of both boxes, and the unfolded ones of the square one.
        pytest.param(BOTH, ("A001AA", "", *["123ABC"] * 3), ("A001AA", "123ABC"), id="two lines"),
        pytest.param(BOTH, ("A001AA", "B002BB", *["77"] * 3), ("A001AA", "B002BB"), id="one line"),
        pytest.param(
            SQUARE_ONLY, ("A001AA", "B", *["77"] * 3), ("A001AA", "77"), id="in no format"
        ),
        pytest.param(LONG_ONLY, ("A001AA", "B"), ("A001AA", "B"), id="a country of one line"),
    ],
)
def test_a_plate_is_read_freely_from_what_its_text_was_read_from(
    formats: Formats, read_texts: tuple[str, ...], free_texts: tuple[str, ...]
) -> None:
    infer = ScriptedInfer(rows(WIDE_BOX, SQUARE_BOX), read_texts * 2)  # once more for the free text
    answer = recognize_here(infer, Settings(), formats).read(picture())
    assert answer.free_texts == free_texts


def test_a_picture_without_plates_has_no_free_texts() -> None:
    answer = recognize_here(ScriptedInfer(rows()), Settings(), BOTH).read(picture())
    assert (len(answer.plates), answer.free_texts) == (0, ())


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
