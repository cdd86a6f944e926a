"""Exported networks give the same answers as the trained ones."""

import os
import resource
import shutil
import sys
from pathlib import Path

import pytest
import torch

from orchestrator.contract import DETECTOR, READER, RECTIFIER
from orchestrator.detection.letterbox import letterbox
from orchestrator.errors import SettingsError, WeightsError
from orchestrator.formats.plate_formats import Formats, russian
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load, load_for, load_networks, write_network
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.stn import STN
from orchestrator.networks.weights import WEIGHTS, list_sums
from workshop.rendering.scenery import scene

INPUTS = {
    "yolo": lambda g: torch.randint(0, 256, (2, 96, 160, 3), dtype=torch.uint8, generator=g),
    "stn": lambda g: torch.rand(5, 3, 24, 94, generator=g) * 2 - 1,
    "lprnet": lambda g: torch.rand(5, 3, 24, 94, generator=g) * 2 - 1,
}


@pytest.fixture(params=sorted(NETWORKS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@torch.inference_mode()
def test_an_exported_file_answers_like_the_network_without_subnormal_numbers(
    name: str, tmp_path
) -> None:
    path = tmp_path / "1" / "model.pt"
    write_network(name, path)
    inputs = INPUTS[name](torch.Generator().manual_seed(0))
    reference = load(name)(inputs)
    actual = torch.jit.load(str(path))(inputs)
    torch.testing.assert_close(actual, reference, rtol=1e-3, atol=1e-3)
    assert list(tmp_path.rglob("part.*")) == []
    assert_no_subnormal_numbers(torch.jit.load(str(path)))


@torch.inference_mode()
def test_in_float16_the_detector_finds_the_same_plates(tmp_path) -> None:
    path = tmp_path / "1" / "model.pt"
    write_network(DETECTOR, path, engine=Engine.TORCHSCRIPT_FP16)
    net = letterbox(scene(["A123BC77"], (320, 256), seed=1).picture, 320).net
    reference = load(DETECTOR)(torch.from_numpy(net))[0, 0]
    actual = torch.jit.load(str(path))(torch.from_numpy(net))[0, 0]
    torch.testing.assert_close(actual, reference, rtol=0.01, atol=0.5)
    assert reference[4] > 0.5
    assert not torch.equal(actual, reference)


@pytest.mark.parametrize("name", [READER, RECTIFIER])
def test_the_other_networks_stay_in_float32(name: str) -> None:
    network = load_for(Engine.TORCHSCRIPT_FP16, name)
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_a_file_that_cannot_be_written_whole_is_named_and_leaves_no_half(
    engine: Engine, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would keep half of a module
    path = tmp_path / ("model.xml" if engine.is_openvino else "model.pt")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # as on a full disk
    try:
        with pytest.raises(SettingsError, match=rf"^{path}: cannot be written: .+$"):
            write_network("stn", path, engine=engine)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_ctrl_c_leaves_no_half_of_a_file(engine: Engine, tmp_path, monkeypatch) -> None:
    def interrupt(part: Path, _to: Path) -> Path:
        assert part.is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_network("stn", tmp_path / "model.xml", engine=engine)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_a_file_is_on_the_disk_before_it_gets_its_name(
    engine: Engine, tmp_path, monkeypatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def record_sync(descriptor: int) -> None:
        steps.append(Path(f"/proc/self/fd/{descriptor}").readlink().suffix)
        fsync(descriptor)

    def record_name(part: Path, path: Path) -> Path:
        steps.append(f"name{path.suffix}")
        return replace(part, path)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(Path, "replace", record_name)
    path = tmp_path / ("model.xml" if engine.is_openvino else "model.pt")
    write_network("stn", path, engine=engine)
    suffixes = [".bin", ".xml"] if engine.is_openvino else [".pt"]
    assert steps == [step for suffix in suffixes for step in (suffix, f"name{suffix}")]


def assert_no_subnormal_numbers(frozen: torch.jit.ScriptModule) -> None:
    constants = [
        node.t("value")
        for node in frozen.graph.findAllNodes("prim::Constant")
        if node.hasAttribute("value") and node.kindOf("value") == "t"
    ]
    floats = [tensor for tensor in constants if tensor.is_floating_point()]
    assert sum(tensor.numel() for tensor in floats) > 10_000
    tiny = torch.finfo(torch.float32).tiny
    assert not any(((t != 0) & (t.abs() < tiny)).any() for t in floats)


def test_networks_in_process_answer_under_the_names_of_the_models() -> None:
    mine = Formats(russian().alphabet, russian().format[:1])
    infer = load_networks(engine=Engine.TORCHSCRIPT, formats=mine)
    assert infer.formats is mine
    crops = torch.zeros(2, 3, 24, 94)
    assert set(infer("stn", {"input__0": crops})) == {"output__0", "output__1"}
    assert infer("lprnet", {"input__0": crops})["output__0"].shape == (2, 24, 18)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_networks_are_as_wide_as_their_weights(name: str, width: int, tmp_path) -> None:
    wide = (STN(width) if name == "stn" else LPRNet(russian().classes, width=width)).eval()
    torch.save(wide.state_dict(), tmp_path / NETWORKS[name].weights)
    shutil.copy(WEIGHTS / "formats.toml", tmp_path)
    list_sums(tmp_path)
    inputs = INPUTS[name](torch.Generator().manual_seed(0))
    with torch.inference_mode():
        torch.testing.assert_close(load(name, tmp_path)(inputs), wide(inputs))


def test_weights_of_no_network_are_refused_whatever_width_they_say(tmp_path) -> None:
    state = NETWORKS["stn"].build(russian(), {}).state_dict()
    torch.save({**state, "localization.0.bias": torch.zeros(5000)}, tmp_path / "stn.pth")
    shutil.copy(WEIGHTS / "formats.toml", tmp_path)
    list_sums(tmp_path)
    with pytest.raises(WeightsError, match="wanted weights of STN for these plate formats, got"):
        load("stn", tmp_path)
