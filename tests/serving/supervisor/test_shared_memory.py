"""Shared memory is removed after the end of the server that created it, and not before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.serving.supervisor import shared_memory
from orchestrator.serving.supervisor.shared_memory import Regions, remove_left_regions

OWNER = """
import sys
from pathlib import Path
from orchestrator.serving.supervisor import shared_memory
shared_memory.SHM = Path(sys.argv[1])
made = shared_memory.Regions.make()
(shared_memory.SHM / f"{made.prefix}region").write_text("")
print(made.prefix, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def shm(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(shared_memory, "SHM", tmp_path)
    return tmp_path


@pytest.fixture
def owner(shm: Path):
    """Another process with a region of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, shm],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline()
        yield process
        process.kill()


def test_what_is_removed_is_gone(shm: Path) -> None:
    made = Regions.make()
    (shm / f"{made.prefix}region").touch()
    made.remove()
    made.remove()
    assert list(shm.iterdir()) == []


def test_regions_of_this_process_are_left_alone(shm: Path) -> None:
    made = Regions.make()
    remove_left_regions()
    assert [file.name for file in shm.iterdir()] == [f"{made.prefix}owner"]
    made.remove()


def test_regions_of_another_process_are_left_alone(owner, shm: Path) -> None:
    remove_left_regions()
    assert len(list(shm.iterdir())) == 2


def test_regions_of_a_killed_process_go(owner, shm: Path) -> None:
    owner.kill()
    owner.wait()
    assert len(list(shm.iterdir())) == 2
    remove_left_regions()
    assert list(shm.iterdir()) == []


def test_two_of_one_process_have_different_names() -> None:
    one, other = Regions.make(), Regions.make()
    assert one.prefix != other.prefix
    one.remove()
    other.remove()


@pytest.mark.parametrize("name", ["plates_1_2_region", "other_owner", "plates_7_new"])
def test_what_nobody_owns_stays(shm: Path, name: str) -> None:
    (shm / name).write_text("")
    remove_left_regions()
    assert (shm / name).exists()


def test_a_link_is_not_followed(shm: Path) -> None:
    (shm / "theirs").write_text("")
    (shm / "plates_1_2_owner").symlink_to(shm / "theirs")
    (shm / "plates_1_2_region").write_text("")
    remove_left_regions()
    assert (shm / "plates_1_2_region").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_regions_of_another_user_are_left_alone(shm: Path) -> None:
    (shm / "plates_1_2_owner").write_text("")
    os.chown(shm / "plates_1_2_owner", 65534, 65534)
    remove_left_regions()
    assert (shm / "plates_1_2_owner").exists()


def test_others_may_read_no_region(shm: Path) -> None:
    made = Regions.make()
    (shm / f"{made.prefix}region").touch(0o666)
    made.close_to_others()
    assert {file.stat().st_mode & 0o777 for file in shm.iterdir()} == {0o600}
    made.remove()
