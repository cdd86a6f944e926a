"""Models of a repository, and a new version beside those that a server reads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, list_sums
from orchestrator.serving.supervisor.models.model_repository import (
    check_distinct,
    count_workers,
    list_models,
    read_config,
)
from orchestrator.serving.supervisor.models.new_version import (
    NewVersion,
    add_version,
    list_versions,
)
from orchestrator.serving.supervisor.models.plate_models import REPOSITORY
from tests.samples import copy_of
from tests.waiting import until


def make_model(folder: Path, config: str = 'backend: "python"') -> Path:
    folder.mkdir(parents=True)
    (folder / "config.pbtxt").write_text(config)
    return folder.parent


def test_models_are_the_folders_with_a_configuration(tmp_path: Path) -> None:
    make_model(tmp_path / "second")
    make_model(tmp_path / "first")
    (tmp_path / "README.md").touch()

    assert list_models(tmp_path) == ("first", "second")


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_a_folder_without_models_is_told(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(SettingsError, match=rf"each with a config.pbtxt, got none in .*{folder}"):
        list_models(tmp_path / folder)


def test_one_name_for_two_models_is_told(tmp_path: Path) -> None:
    theirs = make_model(tmp_path / "stn")

    with pytest.raises(SettingsError, match=r"another name for each model, got stn in two of "):
        check_distinct([REPOSITORY, theirs])


@pytest.mark.parametrize(
    ("config", "workers"),
    [
        pytest.param('backend: "python"', 1, id="no group is one instance"),
        pytest.param('backend: "python" instance_group [ { count: 3 } ]', 3, id="three"),
        pytest.param('backend: "python" instance_group [ { kind: KIND_CPU } ]', 1, id="no count"),
        pytest.param(
            'backend: "python" instance_group [ { count: 1 }, { count: 2 } ]', 3, id="two groups"
        ),
        pytest.param('platform: "ensemble"', 0, id="an ensemble"),
    ],
)
def test_workers_are_counted(tmp_path: Path, config: str, workers: int) -> None:
    assert count_workers(make_model(tmp_path / "model", config)) == workers


def test_a_configuration_that_is_none_is_told(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "backend = python")

    with pytest.raises(SettingsError, match=r"wanted a Triton model configuration, got 1:9"):
        read_config(folder / "model" / "config.pbtxt")


def test_a_configuration_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config.pbtxt: cannot be read: .*No such file"):
        read_config(tmp_path / "config.pbtxt")


@pytest.fixture
def quick(monkeypatch) -> None:
    """A file of a few bytes in place of a network."""
    monkeypatch.setattr(
        "orchestrator.networks.export.write_network",
        lambda _name, file, _weights, engine, _formats: file.write_text(engine.value),
    )


@pytest.fixture
def repository(tmp_path):
    folder = copy_of("model_repository", tmp_path)
    for name in NETWORKS:
        (folder / name / "1").mkdir(exist_ok=True)
    return folder


@pytest.mark.usefixtures("quick")
def test_the_next_version_lies_beside_the_others(repository) -> None:
    folder = add_version(repository, NewVersion("stn", WEIGHTS))
    assert folder == repository / "stn" / "2"
    assert [path.name for path in folder.iterdir()] == ["model.pt"]
    assert list_versions(repository, "stn") == [1, 2]
    assert add_version(repository, NewVersion("stn", WEIGHTS)).name == "3"


def test_versions_that_are_added_at_once_come_one_after_the_other(
    repository, monkeypatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Triton takes each folder that begins with a number for a version."""
    folders: list[list[str]] = []

    def write_slowly(_name: str, file: Path, *_: object) -> None:
        file.write_text("a network")
        folders.append([path.name for path in file.parents[1].iterdir() if path.is_dir()])
        if len(folders) == 1:
            until(lambda: "another command writes here" in caplog.text, "the other to wait", 5)

    monkeypatch.setattr("orchestrator.networks.export.write_network", write_slowly)
    with ThreadPoolExecutor() as threads:
        tasks = [
            threads.submit(add_version, repository, NewVersion("stn", WEIGHTS)) for _ in range(2)
        ]
    assert sorted(task.result().name for task in tasks) == ["2", "3"]
    assert [sorted(names) for names in folders] == [["1", "part"], ["1", "2", "part"]]


@pytest.mark.usefixtures("quick")
def test_what_a_killed_command_left_is_removed(repository) -> None:
    part = repository / "stn" / "part"
    part.mkdir()
    (part / "half.bin").touch()
    folder = add_version(repository, NewVersion("stn", WEIGHTS))
    assert [path.name for path in folder.iterdir()] == ["model.pt"]
    assert not part.exists()


def test_a_version_that_fails_leaves_nothing(repository, tmp_path) -> None:
    weights = copy_of("weights", tmp_path)
    (weights / "stn.pth").unlink()
    with pytest.raises(WeightsError, match=r"no such file: .*stn\.pth"):
        add_version(repository, NewVersion("stn", weights))
    assert [path.name for path in (repository / "stn").iterdir() if path.is_dir()] == ["1"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("backend", "file"), [("pytorch", "model.pt"), ("openvino", "model.xml")])
def test_the_engine_is_one_of_the_backend_that_is_there(repository, backend: str, file) -> None:
    config = repository / "stn" / "config.pbtxt"
    config.write_text(config.read_text().replace('backend: "pytorch"', f'backend: "{backend}"'))
    assert (add_version(repository, NewVersion("stn", WEIGHTS)) / file).is_file()


@pytest.mark.usefixtures("quick")
def test_a_reader_of_another_alphabet_is_refused_and_its_rectifier_is_not(
    repository, tmp_path
) -> None:
    weights, formats = copy_of("weights", tmp_path), WEIGHTS / "formats.toml"
    (repository / "plate_recognition" / "1" / "formats.toml").write_bytes(formats.read_bytes())
    other_formats = formats.read_text().replace("0123456789", "1023456789", 1)
    (weights / "formats.toml").write_text(other_formats)
    list_sums(weights)
    with pytest.raises(WeightsError, match=r"wanted a reader of the alphabet .* 01234.*, got 1023"):
        add_version(repository, NewVersion("lprnet", weights))
    assert list_versions(repository, "lprnet") == [1]
    assert add_version(repository, NewVersion("stn", weights)).name == "2"


@pytest.mark.parametrize(
    ("name", "engine", "message"),
    [
        pytest.param("vgg", Engine.TORCHSCRIPT, "wanted one of yolo, stn, lprnet, got vgg"),
        pytest.param("stn", Engine.OPENVINO, "wanted an engine of the backend pytorch"),
    ],
)
def test_what_cannot_be_served_is_refused(repository, name: str, engine: Engine, message) -> None:
    with pytest.raises(SettingsError, match=message):
        add_version(repository, NewVersion(name, WEIGHTS, engine))
