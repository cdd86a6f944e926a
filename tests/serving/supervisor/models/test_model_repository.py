from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.supervisor.models.model_repository import (
    check_distinct,
    count_workers,
    list_models,
    read_config,
)
from orchestrator.serving.supervisor.models.plate_models import REPOSITORY


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
