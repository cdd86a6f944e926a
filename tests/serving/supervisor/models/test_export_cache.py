"""Exported networks: made if they are missing, and cached by their inputs."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.formats.plate_formats import Formats
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import EXPORTED
from orchestrator.networks.weights import list_sums
from orchestrator.serving.supervisor.models.export_cache import (
    ModelSource,
    export_networks,
    find_export,
)
from orchestrator.serving.supervisor.models.export_process import export_apart
from tests.samples import copy_of


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """Exports that write a few bytes, because only the choice of files is tested."""

    def write(name: str, path: Path, weights: Path, engine: Engine, formats: Formats) -> None:
        path.parent.mkdir(exist_ok=True, parents=True)
        for file in (path, path.with_suffix(".bin")) if path.suffix == ".xml" else (path,):
            file.write_text(f"{name} from {weights} for {len(formats.alphabet)} characters")

    monkeypatch.setattr("orchestrator.networks.export.write_network", write)


@pytest.fixture
def source(tmp_path) -> ModelSource:
    return ModelSource(copy_of("model_repository", tmp_path))


@pytest.fixture
def other_source(source, tmp_path) -> ModelSource:
    """The same with another STN."""
    weights = copy_of("weights", tmp_path)
    state = torch.load(weights / "stn.pth", weights_only=True)
    state["fc_loc.2.bias"] += 0.25
    torch.save(state, weights / "stn.pth")
    list_sums(weights)
    return replace(source, weights=weights)


def test_only_what_is_missing_is_exported(source) -> None:
    files = [source.exported_file(name) for name in EXPORTED]
    assert [file.parent.parent.name for file in files] == [*EXPORTED]
    assert export_networks(source) == files
    assert export_networks(source) == []
    files[1].unlink()
    assert export_networks(source) == [files[1]]
    assert export_networks(source, force=True) == files


def test_exports_of_other_weights_lie_beside_one_another(source, other_source) -> None:
    export_networks(source)
    ours = find_export(source, "stn")
    before = ours.read_text()
    (theirs,) = export_networks(other_source)
    assert theirs == find_export(other_source, "stn") != ours == find_export(source, "stn")
    assert ours.read_text() == before
    assert export_networks(source) == []


def test_an_export_without_its_numbers_is_missing(source) -> None:
    vino = replace(source, engine=Engine.OPENVINO)
    export_networks(vino)
    file = find_export(vino, "stn")
    file.with_suffix(".bin").unlink()
    assert export_networks(vino) == [file]


def test_engines_lie_side_by_side(source) -> None:
    engines = Engine.OPENVINO, Engine.OPENVINO_INT8
    vino, small = (replace(source, engine=engine) for engine in engines)
    assert len(export_networks(vino)) == 4
    assert len(export_networks(small)) == 3
    assert len(export_networks(source)) == 3
    assert export_networks(vino) == export_networks(small) == []


EXPORT = """
import sys
from pathlib import Path
from orchestrator.serving.supervisor.models.export_cache import ModelSource
from orchestrator.serving.supervisor.models.export_process import export_apart

export_apart(ModelSource(Path(sys.argv[1])))
print("torch" in sys.modules)
"""


def test_a_server_exports_without_keeping_pytorch(source) -> None:
    missing = _export_all_but_stn(source)
    run = [sys.executable, "-c", EXPORT, source.repository]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "False\n"
    assert torch.jit.load(missing).original_name == "STN"


def test_a_network_that_cannot_be_exported_apart_is_named(other_source) -> None:
    _export_all_but_stn(other_source)
    state = torch.load(other_source.weights / "stn.pth", weights_only=True)
    state["another"] = state.pop("fc_loc.2.bias")
    torch.save(state, other_source.weights / "stn.pth")
    list_sums(other_source.weights)
    with pytest.raises(WeightsError, match=r"stn\.pth: wanted weights of STN"):
        export_apart(other_source)


def _export_all_but_stn(source: ModelSource) -> Path:
    """Write files of a few bytes for all networks but STN; return the file that is missing."""
    export_networks(source)
    missing = find_export(source, "stn")
    missing.unlink()
    return missing


def test_what_is_not_exported_yet_is_named(source) -> None:
    with pytest.raises(
        SettingsError, match=r"yolo/1/model\.\w{16}\.pt: .* run plates export --engine t"
    ):
        find_export(source, "yolo")


def test_a_folder_that_is_no_repository_is_refused(tmp_path) -> None:
    with pytest.raises(SettingsError, match=r"no such file: .*config\.pbtxt"):
        export_networks(ModelSource(tmp_path))


def test_a_folder_that_cannot_be_written_is_named(source) -> None:
    shutil.rmtree(source.repository / "yolo" / "1", ignore_errors=True)
    (source.repository / "yolo" / "1").write_text("a file where a folder belongs")
    with pytest.raises(
        SettingsError, match=r"yolo/1: the exported .* cannot be written here: File exists; copy"
    ):
        export_networks(source)


def test_a_spare_folder_takes_what_the_repository_cannot(source, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    spare = tmp_path / "spare"
    files = export_networks(source, spare=spare)
    assert {file.parent for file in files} == {spare}
    assert [find_export(source, name, spare) for name in EXPORTED] == files
    assert export_networks(source, spare=spare) == []
