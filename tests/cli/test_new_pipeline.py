"""`plates new-pipeline` writes a pipeline under the given name, or explains why it cannot."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli.new_pipeline import write_pipeline
from orchestrator.errors import SettingsError
from orchestrator.serving.supervisor.models.model_repository import read_config
from tests.client.client_only import ClientOnly
from tests.samples import PROJECT

FILES = [
    "README.md",
    "client.py",
    "model_repository/blur/1/model.py",
    "model_repository/blur/config.pbtxt",
    "test_blur.py",
]


def test_the_files_bear_the_name(tmp_path: Path) -> None:
    files = write_pipeline("blur", tmp_path)
    assert [str(file.relative_to(tmp_path / "blur")) for file in files] == FILES
    assert [file for file in files if "NAME" in file.read_text()] == []
    assert 'client.infer("blur"' in (tmp_path / "blur" / "client.py").read_text()
    config = read_config(tmp_path / "blur" / "model_repository" / "blur" / "config.pbtxt")
    assert [tensor.name for tensor in config.output] == ["hidden", "plates"]


@pytest.mark.parametrize("rule", ["check --ignore I001", "format --check"])
def test_the_code_keeps_the_rules_of_the_project(tmp_path: Path, rule: str) -> None:
    write_pipeline("blur", tmp_path)
    (tmp_path / "pyproject.toml").write_text((PROJECT / "pyproject.toml").read_text())
    ruff = [sys.executable, "-m", "ruff", *rule.split(), "blur"]
    result = subprocess.run(ruff, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "small letters, ") for name in ("", "Blur", "1st", "_b", "a-b", "../b", "x" * 65)),
        ("yolo", "no model of the plates has, got yolo"),
    ],
)
def test_an_invalid_or_taken_name_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        write_pipeline(name, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "blur").mkdir()
    (tmp_path / "blur" / "mine.txt").touch()
    with pytest.raises(SettingsError, match=r"blur: cannot be made: File exists$"):
        write_pipeline("blur", tmp_path)
    assert [file.name for file in (tmp_path / "blur").iterdir()] == ["mine.txt"]


def test_a_client_alone_can_write_one(client_only: ClientOnly, tmp_path: Path) -> None:
    process = client_only.plates("new-pipeline", "blur", "--out", tmp_path)
    assert process.returncode == 0
    assert process.stdout.split() == [str(tmp_path / "blur" / file) for file in FILES]
