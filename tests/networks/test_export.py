"""What is served is what was trained."""

import resource
import shutil
from pathlib import Path

import pytest
import torch
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig, ModelInstanceGroup

from orchestrator.contract import DECODE, MODEL, PLATE_READER, PREPARE, READER
from orchestrator.errors import SettingsError
from orchestrator.formats import Formats, PlateFormat
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load, load_networks, write_network
from orchestrator.networks.ir import Compiled
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import list_sums
from orchestrator.server import repository
from orchestrator.server.capacity import Capacity
from tests.samples import copy_of

INPUTS = {
    "yolo": lambda g: torch.randint(0, 256, (2, 96, 160, 3), dtype=torch.uint8, generator=g),
    "stn": lambda g: torch.rand(5, 3, 24, 94, generator=g) * 2 - 1,
    "lprnet": lambda g: torch.rand(5, 3, 24, 94, generator=g) * 2 - 1,
}


def config_of(text: str) -> ModelConfig:
    return text_format.Parse(text, ModelConfig())


def parsed(path) -> ModelConfig:
    return config_of(path.read_text())


@pytest.fixture(params=sorted(NETWORKS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@torch.inference_mode()
def test_an_exported_file_answers_like_the_network(name: str, tmp_path) -> None:
    path = tmp_path / "1" / "model.pt"
    write_network(name, path)
    given = INPUTS[name](torch.Generator().manual_seed(0))
    expected = load(name)(given)
    actual = torch.jit.load(str(path))(given)
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
    assert list(tmp_path.rglob("part.*")) == []


@torch.inference_mode()
def test_an_exported_file_of_openvino_answers_like_the_network(tmp_path) -> None:
    path = tmp_path / "1" / "model.xml"
    write_network("lprnet", path, engine=Engine.OPENVINO)
    given = INPUTS["lprnet"](torch.Generator().manual_seed(0))
    (actual,) = Compiled(path)(given.numpy())
    torch.testing.assert_close(torch.from_numpy(actual), load("lprnet")(given), rtol=0, atol=2e-3)


@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_a_file_that_cannot_be_written_whole_is_named_and_leaves_no_half(
    engine: Engine, tmp_path
) -> None:
    path = repository.model_file(tmp_path, "stn", engine)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # as on a full disk
    try:
        with pytest.raises(SettingsError, match=rf"^{path}: cannot be written: .+$"):
            write_network("stn", path, engine=engine)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(path.parent.iterdir()) == []


def test_an_exported_file_has_no_subnormal_numbers(name: str, tmp_path) -> None:
    path = tmp_path / "model.pt"
    write_network(name, path)
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
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch) -> None:
        """Files of a few bytes: which are written matters here, what is in them above."""

        def write(name: str, path: Path, weights: Path, engine: Engine, formats: Formats) -> None:
            path.parent.mkdir(exist_ok=True)
            for file in (path, path.with_suffix(".bin")) if engine.is_openvino else (path,):
                file.write_text(f"{name} from {weights}")

        monkeypatch.setattr("orchestrator.networks.export.write_network", write)

    @pytest.fixture
    def folder(self, tmp_path):
        return copy_of("model_repository", tmp_path)

    def test_only_what_is_missing_is_exported(self, folder) -> None:
        models = ("yolo", "stn", "lprnet", "plate_reader_prepare")
        files = [folder / name / "1" / "model.pt" for name in models]
        assert repository.export_networks(folder) == files
        assert repository.export_networks(folder) == []
        files[1].unlink()
        assert repository.export_networks(folder) == [files[1]]
        assert repository.export_networks(folder, force=True) == files

    def test_other_weights_are_exported_again(self, folder, tmp_path) -> None:
        repository.export_networks(folder)
        other = copy_of("weights", tmp_path)
        state = torch.load(other / "stn.pth", weights_only=True)
        state["fc_loc.2.bias"] += 0.25
        torch.save(state, other / "stn.pth")
        list_sums(other)
        assert repository.export_networks(folder, other) == [folder / "stn" / "1" / "model.pt"]
        assert repository.export_networks(folder) == [folder / "stn" / "1" / "model.pt"]

    @pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
    def test_a_server_gets_one_engine_s_files_and_what_fits(self, folder, engine, tmp_path) -> None:
        repository.export_networks(folder, engine=engine)
        target = repository.lay_out(folder, tmp_path / "out", engine, Capacity(2, 3, 5))
        files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
        model = {"model.xml", "model.bin"} if engine.is_openvino else {"model.pt"}
        assert files == {
            "plate_recognition/config.pbtxt",
            "plate_recognition/1/model.py",
            "plate_recognition/1/formats.toml",
            *(f"{name}/config.pbtxt" for name in NETWORKS),
            *(f"{name}/1/{file}" for name in NETWORKS for file in model),
            "plate_reader/config.pbtxt",
            "plate_reader_prepare/config.pbtxt",
            "plate_reader_prepare/1/model.pt",
            "plate_reader_decode/config.pbtxt",
            "plate_reader_decode/1/model.py",
            "plate_reader_decode/1/formats.toml",
        }
        served = [name for name in repository.MODELS if name != PLATE_READER]
        configs = {name: parsed(target / name / "config.pbtxt") for name in served}
        assert {name: config.instance_group[0].count for name, config in configs.items()} == {
            "plate_recognition": 5,
            "yolo": 3,
            "stn": 1,
            "lprnet": 3,
            "plate_reader_prepare": 1,
            "plate_reader_decode": 1,
        }
        assert {configs[name].backend for name in NETWORKS} == {engine.backend}
        assert configs[MODEL].backend == configs[DECODE].backend == "python"
        assert configs[PREPARE].backend == "pytorch"

    def test_what_changes_with_the_engine_is_backend_and_device_alone(self, folder) -> None:
        once = Capacity(1, 1, 1)
        for name in NETWORKS:
            floats = config_of(repository.configure(folder, name, Engine.TORCHSCRIPT, once))
            vino = config_of(repository.configure(folder, name, Engine.OPENVINO_INT8, once))
            assert vino.instance_group[0].kind == ModelInstanceGroup.KIND_CPU
            vino.backend, vino.instance_group[0].kind = "pytorch", ModelInstanceGroup.KIND_AUTO
            assert vino == floats == parsed(folder / name / "config.pbtxt")

    @pytest.mark.parametrize("name", [MODEL, *NETWORKS, PREPARE])
    def test_what_is_for_gpus_takes_nothing_else(self, folder, name) -> None:
        config = config_of(repository.configure(folder, name, Engine.TORCHSCRIPT))
        assert [group.kind for group in config.instance_group] == [ModelInstanceGroup.KIND_GPU]

    def test_the_last_step_has_no_use_for_a_gpu(self, folder) -> None:
        config = config_of(repository.configure(folder, DECODE, Engine.TORCHSCRIPT))
        assert config.instance_group[0].kind == ModelInstanceGroup.KIND_CPU

    def test_the_reader_has_a_class_for_each_character_and_the_blank(self, folder) -> None:
        formats = Formats("01A", (PlateFormat("mine", ("LD",)),))
        config = repository.configure(folder, READER, Engine.OPENVINO, formats=formats)
        assert [*config_of(config).output[0].dims] == [4, 18]
        config = repository.configure(folder, DECODE, Engine.OPENVINO, formats=formats)
        assert [*config_of(config).input[0].dims] == [-1, 4, 18]

    def test_the_last_step_gets_the_settings_of_readings(self, folder) -> None:
        config = config_of(repository.configure(folder, DECODE, Engine.OPENVINO))
        values = {name: value.string_value for name, value in config.parameters.items()}
        assert values == {"text_threshold": "0.5"}

    def test_switching_the_engine_and_back_exports_what_is_missing(self, folder) -> None:
        assert len(repository.export_networks(folder, engine=Engine.OPENVINO)) == 4
        assert len(repository.export_networks(folder, engine=Engine.OPENVINO_INT8)) == 3
        assert repository.export_networks(folder, engine=Engine.OPENVINO_INT8) == []
        assert len(repository.export_networks(folder, engine=Engine.TORCHSCRIPT)) == 3
        assert repository.export_networks(folder, engine=Engine.OPENVINO_INT8) == []

    def test_what_is_not_exported_yet_is_named(self, folder, tmp_path) -> None:
        with pytest.raises(
            SettingsError, match=r"yolo/1/model\.pt: .* run plates export --engine t"
        ):
            repository.lay_out(folder, tmp_path / "out", Engine.TORCHSCRIPT)

    def test_a_target_that_cannot_be_written_is_named(self, folder, tmp_path) -> None:
        (tmp_path / "out").write_text("a file where a folder belongs")
        with pytest.raises(SettingsError, match=r"out.*: cannot be written: Not a dir"):
            repository.lay_out(folder, tmp_path / "out", Engine.TORCHSCRIPT)

    def test_a_configuration_that_does_not_parse_is_named(self, folder) -> None:
        (folder / "stn" / "config.pbtxt").write_text("backend = pytorch")
        with pytest.raises(SettingsError, match=r"stn/config\.pbtxt: wanted a Triton model"):
            repository.configure(folder, "stn", Engine.OPENVINO)

    def test_a_folder_that_is_no_repository_is_refused(self, tmp_path) -> None:
        with pytest.raises(SettingsError, match=r"no such file: .*config\.pbtxt"):
            repository.export_networks(tmp_path)

    def test_a_folder_that_cannot_be_written_is_named(self, folder) -> None:
        shutil.rmtree(folder / "yolo" / "1", ignore_errors=True)
        (folder / "yolo" / "1").write_text("a file where a folder belongs")
        with pytest.raises(
            SettingsError,
            match=r"yolo/1: the exported .* cannot be written here: File exists; copy",
        ):
            repository.export_networks(folder)
