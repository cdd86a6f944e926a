"""A server's files on disk and in shared memory: readable by workers, and removed after its end."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor import server_folder
from orchestrator.serving.supervisor.server_folder import (
    Regions,
    ServerFolder,
    is_plain,
    remove_left_regions,
    writing,
)


@pytest.fixture
def folder():
    new_folder = ServerFolder.make()
    yield new_folder
    new_folder.remove()


@pytest.mark.parametrize("name", ["plates", "plates 2.0", "a_b-c+d"])
def test_a_plain_path_is_used_as_it_is(folder: ServerFolder, tmp_path: Path, name: str) -> None:
    assert folder.plain(tmp_path / name) == tmp_path / name


@pytest.mark.parametrize("name", ["мой проект", "a:b", "a;b", "$LIB", "two\nlines"])
def test_any_other_path_is_reached_through_a_link(
    folder: ServerFolder, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "model.py").touch()
    link = folder.plain(tmp_path / name)
    assert is_plain(link)
    assert (link / "model.py").exists()
    assert folder.plain(tmp_path / name) != link  # each has its own


def test_a_temporary_folder_that_is_not_ascii_is_reached_through_a_link(
    tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "врем").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "врем"))
    folder = ServerFolder.make()
    assert is_plain(folder.path)
    assert folder.path.resolve().parent == tmp_path / "врем"
    folder.remove()
    assert list((tmp_path / "врем").iterdir()) == []
    assert list(server_folder.SHM.glob(f"{folder.shm_prefix}*")) == []


def test_a_workers_python_sees_plain_folders_in_their_order(
    folder: ServerFolder, tmp_path: Path
) -> None:
    (tmp_path / "имя").mkdir()
    programs = folder.lay_out_python([tmp_path / "имя", tmp_path])
    (packages,) = programs.parent.glob("lib/python3.*/site-packages/*.pth")
    patch, first, second = packages.read_text(encoding="ascii").splitlines()
    assert patch == "import unresolved_links"
    assert Path(first).resolve() == tmp_path / "имя"
    assert second == str(tmp_path)
    assert os.access(programs / "python3", os.X_OK)


def test_a_workers_python_leaves_links_to_other_than_ascii_unresolved(
    folder: ServerFolder, tmp_path: Path
) -> None:
    (tmp_path / "имя").mkdir()
    (tmp_path / "имя" / "where.py").write_text(
        "import os, pathlib\n"
        "print(os.path.realpath(__file__), pathlib.Path(__file__).resolve(), sep='\\n')\n"
    )
    (tmp_path / "ascii").symlink_to(tmp_path)
    programs = folder.lay_out_python([tmp_path / "имя"])
    code = f"import where, os; print(os.path.realpath({str(tmp_path / 'ascii')!r}))"
    child = subprocess.run(
        [programs / "python3", "-c", code], capture_output=True, text=True, check=True
    )
    link = str(folder.links / "0" / "where.py")
    assert child.stdout.splitlines() == [link, link, str(tmp_path)]


def test_a_workers_python_resolves_as_ever_where_every_path_is_plain(
    folder: ServerFolder, tmp_path: Path
) -> None:
    programs = folder.lay_out_python([tmp_path])
    (packages,) = programs.parent.glob("lib/python3.*/site-packages/*.pth")
    assert packages.read_text(encoding="ascii") == f"{tmp_path}\n"


def test_no_temporary_folder_is_one_sentence() -> None:
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/x']")
    message = "TMPDIR: no room to write to: No usable .*; TMPDIR says where there is more"
    with pytest.raises(ServerError, match=message), writing():
        raise error


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    message = "nope/file: no room to write to: No such file"
    with pytest.raises(ServerError, match=message), writing():
        (tmp_path / "nope" / "file").write_text("")


OWNER = """
import sys
from pathlib import Path
from orchestrator.serving.supervisor import server_folder
server_folder.SHM = Path(sys.argv[1])
made = server_folder.Regions.make()
(server_folder.SHM / f"{made.prefix}region").write_text("")
print(made.prefix, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def shm(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(server_folder, "SHM", tmp_path)
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
    regions = Regions.make()
    (shm / f"{regions.prefix}region").touch()
    regions.remove()
    regions.remove()
    assert list(shm.iterdir()) == []


def test_regions_of_processes_that_run_are_left_alone(owner, shm: Path) -> None:
    regions = Regions.make()
    remove_left_regions()
    assert len(list(shm.iterdir())) == 3
    regions.remove()
    assert len(list(shm.iterdir())) == 2


def test_regions_of_a_killed_process_go(owner, shm: Path) -> None:
    owner.kill()
    owner.wait()
    assert len(list(shm.iterdir())) == 2
    remove_left_regions()
    assert list(shm.iterdir()) == []


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
    regions = Regions.make()
    (shm / f"{regions.prefix}region").touch(0o666)
    regions.close_to_others()
    assert {file.stat().st_mode & 0o777 for file in shm.iterdir()} == {0o600}
    regions.remove()
