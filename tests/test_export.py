"""What is served is what was trained."""

import hashlib
import shutil

import pytest
import torch

from orchestrator.errors import SettingsError
from orchestrator.networks.export import NETWORKS, export, load, load_networks
from orchestrator.networks.weights import WEIGHTS
from orchestrator.triton import repository

INPUTS = {
    "yolo": lambda g: torch.randint(0, 256, (2, 96, 160, 3), dtype=torch.uint8, generator=g),
    "stn": lambda g: torch.rand(5, 3, 24, 94, generator=g) * 2 - 1,
    "lprnet": lambda g: torch.rand(5, 3, 24, 94, generator=g) * 2 - 1,
}


@pytest.fixture(params=sorted(NETWORKS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@torch.inference_mode()
def test_an_exported_file_answers_like_the_network(name: str, tmp_path) -> None:
    path = tmp_path / "1" / "model.pt"
    export(name, path)
    given = INPUTS[name](torch.Generator().manual_seed(0))
    expected = load(name)(given)
    actual = torch.jit.load(str(path))(given)
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
    assert list(tmp_path.rglob("*.part")) == []


def test_an_exported_file_has_no_subnormal_numbers(name: str, tmp_path) -> None:
    path = tmp_path / "model.pt"
    export(name, path)
    frozen = torch.jit.load(str(path))
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
    infer = load_networks()
    crops = torch.zeros(2, 3, 24, 94)
    assert set(infer("stn", {"input__0": crops})) == {"output__0", "output__1"}
    assert infer("lprnet", {"input__0": crops})["output__0"].shape == (2, 23, 18)


class TestRepository:
    @pytest.fixture
    def folder(self, tmp_path):
        for model in ("plate_recognition", "yolo", "stn", "lprnet"):
            (tmp_path / model).mkdir()
            source = repository.REPOSITORY / model / "config.pbtxt"
            (tmp_path / model / "config.pbtxt").write_text(source.read_text())
        return tmp_path

    def test_only_what_is_missing_is_exported(self, folder) -> None:
        files = [folder / name / "1" / "model.pt" for name in ("yolo", "stn", "lprnet")]
        assert repository.export(folder) == files
        assert repository.export(folder) == []
        files[1].unlink()
        assert repository.export(folder) == [files[1]]
        assert repository.export(folder, force=True) == files

    def test_other_weights_are_exported_again(self, folder, tmp_path) -> None:
        repository.export(folder)
        other = tmp_path / "weights"
        shutil.copytree(WEIGHTS, other)
        state = torch.load(other / "stn.pth", weights_only=True)
        state["fc_loc.2.bias"] += 0.25
        torch.save(state, other / "stn.pth")
        sums = (hashlib.sha256(f.read_bytes()).hexdigest() + "  " + f.name for f in other.iterdir())
        (other / "SHA256SUMS").write_text("\n".join(sums))
        assert repository.export(folder, other) == [folder / "stn" / "1" / "model.pt"]
        assert repository.export(folder) == [folder / "stn" / "1" / "model.pt"]

    def test_a_folder_that_is_no_repository_is_refused(self, tmp_path) -> None:
        with pytest.raises(SettingsError, match=r"wanted .*config\.pbtxt, got no such file"):
            repository.export(tmp_path)

    def test_a_folder_that_cannot_be_written_is_named(self, folder) -> None:
        (folder / "yolo" / "1").write_text("a file where a folder belongs")
        with pytest.raises(
            SettingsError, match=r"model\.pt: wanted to write here, got File exists"
        ):
            repository.export(folder)
