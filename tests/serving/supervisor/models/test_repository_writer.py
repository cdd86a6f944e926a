"""The model repository of a server: one engine, one country, and a fitting number of instances."""

from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig, ModelInstanceGroup

from orchestrator.contract import (
    DECODE,
    DETECTOR,
    FORMATS_FILE,
    INPUT,
    MODEL,
    PLATE_READER,
    PREPARE,
    READER,
)
from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import COUNTRIES
from orchestrator.networks.engines import Engine
from orchestrator.networks.own_files import read_list
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, list_sums
from orchestrator.serving.supervisor.capacity import Capacity, fitting, fitting_gpu
from orchestrator.serving.supervisor.models.export_cache import ModelSource, export_networks
from orchestrator.serving.supervisor.models.model_repository import list_models
from orchestrator.serving.supervisor.models.new_version import NewVersion, add_version
from orchestrator.serving.supervisor.models.plate_models import (
    MODELS,
    ONE_MODEL,
    models_of,
    tells_countries,
)
from orchestrator.serving.supervisor.models.repository_writer import (
    canary_folder,
    configure,
    lay_out,
)
from orchestrator.serving.supervisor.options import ServerOptions
from tests.samples import copy_of

TINY = """alphabet = "01A"
[[format]]
name = "mine"
layouts = ["LD"]
"""


def config_of(text: str) -> ModelConfig:
    return text_format.Parse(text, ModelConfig())


def read(path) -> ModelConfig:
    return config_of(path.read_text())


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_a_server_gets_one_engine_s_files_and_as_many_workers_as_fit(
    source, engine: Engine, tmp_path
) -> None:
    source = replace(source, engine=engine)
    export_networks(source)
    target = lay_out(source, tmp_path / "out", Capacity(2, 3, 5))
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    model = {"model.xml", "model.bin"} if engine.is_openvino else {"model.pt"}
    assert files == {
        "plate_recognition/config.pbtxt",
        "plate_recognition/1/model.py",
        "plate_recognition/1/formats.toml",
        "plate_recognition/1/canary.jpg",
        "plate_recognition/1/canary.txt",
        *(f"{name}/config.pbtxt" for name in NETWORKS),
        *(f"{name}/1/{file}" for name in NETWORKS for file in model),
        "plate_reader/config.pbtxt",
        "plate_reader_prepare/config.pbtxt",
        f"plate_reader_prepare/1/model.{'py' if engine.is_openvino else 'pt'}",
        "plate_reader_decode/config.pbtxt",
        "plate_reader_decode/1/model.py",
        "plate_reader_decode/1/formats.toml",
    }
    names = [name for name in MODELS if name != PLATE_READER]
    configs = {name: read(target / name / "config.pbtxt") for name in names}
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
    assert configs[PREPARE].backend == ("python" if engine.is_openvino else "pytorch")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_one_model_has_the_networks_beside_its_code_and_replaces_the_other_composition(
    source, engine: Engine, tmp_path
) -> None:
    source, target = replace(source, engine=engine), tmp_path / "out"
    export_networks(source)
    lay_out(source, target, Capacity(2, 3, 5))
    lay_out(source, target, Capacity(2, 2, 2, is_one_model=True))
    assert list_models(target) == tuple(sorted(models_of(target))) == (PLATE_READER, MODEL)
    code = {"model.py", "formats.toml", "networks.json"}
    suffixes = ("xml", "bin") if engine.is_openvino else ("pt",)
    for name, networks in ONE_MODEL.items():
        files = {path.name for path in (target / name / "1").iterdir()}
        own = {f"{network}.{suffix}" for network in networks for suffix in suffixes}
        assert files - {"canary.jpg", "canary.txt"} == code | own
        assert read_list(target / name / "1").keys() == {*networks}
    detector = read_list(target / MODEL / "1")[DETECTOR]
    assert (detector.file, detector.hang_s) == (f"yolo.{suffixes[0]}", 7.0)
    assert detector.warm_up[0] == (1, 544, 960, 3)
    reader = read(target / PLATE_READER / "config.pbtxt")
    assert (reader.backend, reader.platform) == ("python", "")
    assert reader.instance_group[0].kind == ModelInstanceGroup.KIND_CPU
    assert reader.parameters["hang_s"].string_value == "2.5"
    assert read(target / MODEL / "config.pbtxt").instance_group[0].count == 2
    with pytest.raises(SettingsError, match="got --one-model; write it again"):
        add_version(target, NewVersion(READER, WEIGHTS))


@pytest.mark.usefixtures("quick")
def test_weights_without_a_canary_give_none(source, tmp_path) -> None:
    weights = copy_of("weights", tmp_path)
    (weights / "canary.txt").unlink()
    source = replace(source, weights=weights)
    export_networks(source)
    folder = canary_folder(lay_out(source, tmp_path / "out"))
    assert {file.name for file in folder.iterdir()} == {"model.py", "formats.toml"}


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_what_changes_with_the_engine_is_backend_and_device_alone(source, name) -> None:
    once = Capacity(1, 1, 1)
    floats = config_of(configure(source, name, once))
    vino = config_of(configure(replace(source, engine=Engine.OPENVINO_INT8), name, once))
    assert vino.instance_group[0].kind == ModelInstanceGroup.KIND_CPU
    vino.backend, vino.instance_group[0].kind = "pytorch", ModelInstanceGroup.KIND_AUTO
    assert vino == floats
    floats.dynamic_batching.SetInParent()
    assert floats == read(source.repository / name / "config.pbtxt")


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_network_joins_calls_on_a_gpu_alone(source, name) -> None:
    on_cpu, on_gpu = Capacity(1, 1, 1), Capacity(1, 1, 1, on_gpu=True)
    assert not config_of(configure(source, name, on_cpu)).HasField("dynamic_batching")
    assert config_of(configure(source, name, on_gpu)).HasField("dynamic_batching")


def test_a_gpu_is_warmed_up_for_tiles_and_batches(source) -> None:
    def list_warmed(capacity: Capacity) -> list[tuple[int, ...]]:
        config = config_of(configure(source, DETECTOR, capacity))
        assert len({warmup.name for warmup in config.model_warmup}) == len(config.model_warmup)
        return [(warmup.batch_size, *warmup.inputs[INPUT].dims) for warmup in config.model_warmup]

    cpu_warmups = list_warmed(fitting(2))
    assert {batch for batch, *_ in cpu_warmups} == {1}
    shapes = {tuple(shape) for _, *shape in cpu_warmups} | {(192, 320, 3)}
    gpu_warmups = list_warmed(fitting_gpu(pictures=4))
    assert sorted(gpu_warmups) == sorted(
        (batch, *shape) for batch in (1, 2, 3, 4) for shape in shapes
    )
    assert max(list_warmed(fitting_gpu(pictures=1)))[0] == 2
    assert max(list_warmed(fitting_gpu(pictures=64)))[0] == 8


def test_plate_recognition_has_a_limit_of_its_queue_where_no_gateway_sets_one(source) -> None:
    policy = config_of(configure(source, MODEL, Capacity(1, 1, 1))).dynamic_batching
    assert policy == config_of(configure(source, MODEL)).dynamic_batching
    assert policy.default_queue_policy.max_queue_size
    gateway_config = config_of(configure(source, MODEL, ServerOptions(caller_key="key").capacity()))
    assert not gateway_config.HasField("dynamic_batching")
    assert not ServerOptions().capacity().gateway_queues


NEIGHBOURS = COUNTRIES / "neighbours" / "formats.toml"


@pytest.fixture
def several_countries(source: ModelSource, tmp_path: Path) -> ModelSource:
    """Weights that say that they read several countries; their networks are not there."""
    weights = tmp_path / "neighbours"
    weights.mkdir()
    (weights / FORMATS_FILE).write_text(NEIGHBOURS.read_text())
    list_sums(weights)
    return replace(source, weights=weights)


@pytest.mark.parametrize("is_one_model", [False, True])
def test_a_model_of_several_countries_has_the_outputs_about_them(
    source: ModelSource, several_countries: ModelSource, is_one_model: bool
) -> None:
    capacity = Capacity(1, 1, 1, is_one_model=is_one_model)
    config = config_of(configure(several_countries, MODEL, capacity))
    usual_config = config_of(configure(source, MODEL, capacity))
    more = [(output.name, output.data_type, [*output.dims]) for output in config.output[-2:]]
    assert more == [
        ("countries", DataType.TYPE_STRING, [-1, 1]),
        ("country_scores", DataType.TYPE_FP32, [-1, 1]),
    ]
    del config.output[-2:]
    assert config == usual_config
    assert usual_config.output == read(source.repository / MODEL / "config.pbtxt").output


def test_outputs_about_countries_that_are_there_come_once(several_countries: ModelSource) -> None:
    assert not tells_countries(several_countries.repository)
    text = configure(several_countries, MODEL)
    (several_countries.repository / MODEL / "config.pbtxt").write_text(text)
    assert configure(several_countries, MODEL) == text
    assert tells_countries(several_countries.repository)


@pytest.mark.parametrize("name", [*NETWORKS, PREPARE])
def test_what_is_for_gpus_takes_nothing_else(source, name) -> None:
    config = config_of(configure(source, name))
    assert [group.kind for group in config.instance_group] == [ModelInstanceGroup.KIND_GPU]


def test_pictures_lie_on_a_gpu_on_request_alone(source) -> None:
    def kinds_of(capacity: Capacity) -> dict[str, int]:
        groups = [
            (name, config_of(configure(source, name, capacity))) for name in (MODEL, *NETWORKS)
        ]
        return {name: config.instance_group[0].kind for name, config in groups}

    cpu, gpu = ModelInstanceGroup.KIND_CPU, ModelInstanceGroup.KIND_GPU
    assert kinds_of(fitting_gpu()) == {MODEL: cpu, **dict.fromkeys(NETWORKS, gpu)}
    on_gpu = fitting_gpu(pictures_on_gpu=True)
    assert kinds_of(on_gpu) == dict.fromkeys((MODEL, *NETWORKS), gpu)


def test_the_detector_alone_runs_as_cuda_graphs_on_a_gpu(source) -> None:
    def list_graphed(capacity: Capacity) -> list[str]:
        configs = {name: config_of(configure(source, name, capacity)) for name in MODELS}
        return [name for name, config in configs.items() if config.optimization.cuda.graphs]

    assert list_graphed(fitting_gpu()) == [DETECTOR]
    assert list_graphed(fitting(2)) == []


def test_the_reader_has_a_class_for_each_character_and_the_blank(source, tmp_path) -> None:
    weights = copy_of("weights", tmp_path)
    (weights / "formats.toml").write_text(TINY)
    list_sums(weights)
    source = replace(source, weights=weights)
    assert [*config_of(configure(source, READER)).output[0].dims] == [4, 18]
    assert [*config_of(configure(source, DECODE)).input[0].dims] == [-1, 4, 18]


@pytest.mark.parametrize("name", [MODEL, "lprnet"])
def test_a_worker_may_take_longer_on_a_gpu(source, name: str) -> None:
    hangs = [
        config_of(configure(source, name, capacity)).parameters["hang_s"].string_value
        for capacity in (Capacity(1, 1, 1), Capacity(1, 1, 1, on_gpu=True))
    ]
    assert hangs == ["2.5", "30"]


def test_the_last_step_gets_the_settings_of_readings_and_no_gpu(source) -> None:
    config = config_of(configure(source, DECODE))
    values = {name: value.string_value for name, value in config.parameters.items()}
    assert values == {"text_threshold": "0.6", "hang_s": "2.5"}
    assert config.instance_group[0].kind == ModelInstanceGroup.KIND_CPU
