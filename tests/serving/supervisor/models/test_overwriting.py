"""A model repository that is written over an older one, or cannot be."""

import errno
import shutil
import signal
from pathlib import Path

import pytest

from orchestrator.contract import (
    DECODE,
)
from orchestrator.errors import SettingsError
from orchestrator.serving.supervisor.capacity import fitting
from orchestrator.serving.supervisor.models.export_cache import export_networks
from orchestrator.serving.supervisor.models.plate_models import (
    MODELS,
)
from orchestrator.serving.supervisor.models.repository_writer import (
    lay_out,
)


def test_a_target_that_cannot_be_written_is_named(source, tmp_path) -> None:
    (tmp_path / "out").write_text("a file where a folder belongs")
    with pytest.raises(SettingsError, match=r"out.*: cannot be written: Not a dir.* \(.*out.*\)$"):
        lay_out(source, tmp_path / "out")


@pytest.mark.usefixtures("quick")
def test_models_stay_when_their_successors_cannot_be_written(source, tmp_path, monkeypatch) -> None:
    export_networks(source)
    target = lay_out(source, tmp_path / "out")
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    copy = shutil.copy

    def fill_disk(file: Path, path: Path) -> None:
        if path.parts[-3] == DECODE:
            raise OSError(errno.ENOSPC, "No space left on device", str(file), None, str(path))
        copy(file, path)

    monkeypatch.setattr(shutil, "copy", fill_disk)
    with pytest.raises(
        SettingsError, match=r"out: cannot .* No space left on device \(.*/out/.*\)$"
    ):
        lay_out(source, target, fitting(4))
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    (target / ".part" / "stn").mkdir(parents=True)  # of a command that was killed
    lay_out(source, target)
    assert {path.name for path in target.iterdir()} == {*MODELS}


@pytest.mark.usefixtures("quick")
def test_a_first_export_that_was_killed_is_written_again(source, tmp_path) -> None:
    export_networks(source)
    (tmp_path / "out" / ".part" / "yolo").mkdir(parents=True)
    lay_out(source, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*MODELS}


def test_what_somebody_else_wrote_is_left_alone(source, tmp_path) -> None:
    mine = tmp_path / "mine" / "yolo"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("precious")
    with pytest.raises(SettingsError, match=r"wanted a new folder, or one that .* got another"):
        lay_out(source, tmp_path / "mine")
    assert (mine / "thesis.txt").read_text() == "precious"


def test_the_source_is_not_written_over(source) -> None:
    with pytest.raises(SettingsError, match="wanted a new folder"):
        lay_out(source, source.repository)
    assert (source.repository / "plate_recognition" / "1" / "model.py").is_file()


@pytest.mark.usefixtures("quick")
def test_versions_that_were_added_are_not_lost(source, tmp_path) -> None:
    export_networks(source)
    target = lay_out(source, tmp_path / "out")
    lay_out(source, target)
    (target / "stn" / "2").mkdir()
    with pytest.raises(SettingsError, match=r"got one with .*stn/2, which was added since"):
        lay_out(source, target)


@pytest.mark.usefixtures("quick")
def test_ctrl_c_while_models_are_replaced_loses_none(source, tmp_path, monkeypatch) -> None:
    export_networks(source)
    target = lay_out(source, tmp_path / "out")
    rename = Path.rename

    def press_ctrl_c(number: int = signal.SIGINT) -> None:
        signal.getsignal(number)(number, None)

    def interrupt(path: Path, to: Path) -> Path:
        new_path = rename(path, to)
        press_ctrl_c()
        return new_path

    monkeypatch.setattr(Path, "rename", interrupt)
    monkeypatch.setattr(signal, "raise_signal", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        lay_out(source, target)
    assert {path.name for path in target.iterdir()} == {*MODELS}
