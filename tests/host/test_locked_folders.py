"""Locked folders are removed after their owner's process has ended, and not before."""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.host.locked_folders import MARK, LockedFolder, remove_left_folders
from tests.child_python import run_python
from tests.waiting import until

KILLED = """
import os, signal, subprocess, sys
from orchestrator.host.locked_folders import LockedFolder
locked_folder = LockedFolder.make()
(locked_folder.folder / "models" / "1").mkdir(parents=True)
(locked_folder.folder / "models" / "1" / "model.bin").write_text("x")
(locked_folder.folder / "link").symlink_to("/nowhere")
"""
"""Program of an owner; its end is appended."""
ENDLESS = "print(locked_folder.folder, flush=True); sys.stdin.read()"
DIES = "os.kill(os.getpid(), signal.SIGKILL)"
CHILD = """
child = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(600)"],
    pass_fds=[locked_folder.children],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
print(child.pid, flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Set TMPDIR of this process and its children; return the folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[str]]:
    """Another process with a folder of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED + ENDLESS],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline()
        yield process
        process.kill()


def run_owner(ending: str) -> str:
    """Run an owner to its end; return what it printed."""
    process = run_python(KILLED + ending, check=False)
    assert process.stderr == ""
    return process.stdout


def test_what_is_removed_is_gone_and_may_be_so_twice(folder: Path) -> None:
    locked_folder = LockedFolder.make("models-")
    assert locked_folder.folder.name.startswith("plates-models-")
    (locked_folder.folder / "python" / "bin").mkdir(parents=True)
    locked_folder.remove()
    locked_folder.remove()
    assert list(folder.iterdir()) == []


def test_folders_of_processes_that_run_are_left_alone(owner, folder: Path) -> None:
    locked_folder = LockedFolder.make()
    remove_left_folders()
    assert (locked_folder.folder / MARK).exists()
    locked_folder.remove()
    (other_folder,) = folder.iterdir()
    assert (other_folder / "models" / "1" / "model.bin").read_text() == "x"


def test_the_folder_of_a_killed_process_goes(owner, folder: Path) -> None:
    owner.kill()
    owner.wait()
    assert list(folder.iterdir()) != []
    remove_left_folders()
    assert list(folder.iterdir()) == []


def test_the_folder_of_a_killed_process_goes_from_another_parent_too(
    folder: Path, tmp_path: Path
) -> None:
    other_parent = tmp_path / "other"
    other_parent.mkdir()
    run_owner(f"LockedFolder.make('metrics-', {str(other_parent)!r})\n{DIES}")
    remove_left_folders()
    assert list(folder.iterdir()) == [other_parent]
    assert list(other_parent.iterdir()) != []
    remove_left_folders(other_parent)
    assert list(other_parent.iterdir()) == []


def test_a_folder_that_is_only_named_like_ours_stays(folder: Path) -> None:
    (folder / "plates-pictures").mkdir()
    (folder / "plates-pictures" / "car.jpg").write_text("")
    remove_left_folders()
    assert (folder / "plates-pictures" / "car.jpg").exists()


def test_a_link_named_like_ours_is_not_followed(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / MARK).write_text("")
    (folder / "plates-link").symlink_to(folder / "elsewhere")
    remove_left_folders()
    assert (folder / "elsewhere" / MARK).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_folder_of_another_user_is_left_alone(folder: Path) -> None:
    theirs = folder / "plates-theirs"
    theirs.mkdir()
    (theirs / MARK).write_text("")
    os.chown(theirs, 65534, 65534)
    remove_left_folders()
    assert (theirs / MARK).exists()


@pytest.mark.parametrize(
    "preparation", ["", "os.kill(child.pid, signal.SIGSTOP)"], ids=["running", "stopped"]
)
def test_the_children_of_a_killed_process_are_ended(folder: Path, preparation: str) -> None:
    child = int(run_owner(f"{CHILD}{preparation}\nos.kill(os.getpid(), signal.SIGKILL)"))
    assert Path(f"/proc/{child}").exists()
    remove_left_folders()
    assert list(folder.iterdir()) == []
    until(lambda: not is_running(child), "the child away")


def test_a_folder_can_be_tidied_up_around(folder: Path) -> None:
    """systemd-tmpfiles does not remove folders that another process has locked."""
    locked_folder = LockedFolder.make()
    descriptor = os.open(locked_folder.folder, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
    locked_folder.remove()


def test_what_was_half_removed_is_known_as_a_leftover(folder: Path) -> None:
    rest = folder / "plates-half"
    rest.mkdir()
    (rest / MARK).write_text("")
    remove_left_folders()
    assert list(folder.iterdir()) == []


def test_no_room_is_an_error_that_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError):
        LockedFolder.make()
    remove_left_folders()


def is_running(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
