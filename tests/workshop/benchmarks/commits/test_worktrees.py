import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.errors import DataError
from workshop.benchmarks.commits.worktrees import Repository, check_imports, choose_variables


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with the commits `first`, which has another lock, and `second`."""
    folder = tmp_path / "repository"
    git(tmp_path, "init", "--quiet", "repository")
    for name in ("first", "second"):
        (folder / "poetry.lock").write_text(name)
        (folder / "orchestrator").mkdir(exist_ok=True)
        (folder / "orchestrator" / "__init__.py").write_text(f'"""{name}"""\n')
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"Add {name}")
        git(folder, "tag", name)
    return Repository(folder)


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    command = ["git", *who, "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_commit_is_found_by_its_name(repository: Repository) -> None:
    commit = repository.find_commit("second~1")
    assert commit == repository.find_commit("first")
    assert commit.subject == "Add first"
    assert commit.sha.startswith(commit.short)


def test_an_unknown_commit_is_named(repository: Repository) -> None:
    with pytest.raises(DataError, match="wanted a commit of this repository, got third"):
        repository.find_commit("third")


def test_a_commit_is_checked_out_and_removed(repository: Repository, tmp_path: Path) -> None:
    with repository.check_out(repository.find_commit("first"), tmp_path / "tree") as tree:
        assert (tree / "poetry.lock").read_text() == "first"
        (tree / "exported").write_text("by a server")
    assert not tree.exists()
    assert len(git(repository.folder, "worktree", "list").splitlines()) == 1


def test_an_interrupt_removes_the_worktree(repository: Repository, tmp_path: Path) -> None:
    commit = repository.find_commit("first")
    with pytest.raises(KeyboardInterrupt), repository.check_out(commit, tmp_path / "tree"):
        raise KeyboardInterrupt
    assert len(git(repository.folder, "worktree", "list").splitlines()) == 1


def test_a_commit_can_be_compared_with_itself(repository: Repository, tmp_path: Path) -> None:
    commit = repository.find_commit("second")
    with (
        repository.check_out(commit, tmp_path / "base") as base,
        repository.check_out(commit, tmp_path / "head") as head,
    ):
        assert base.is_dir()
        assert head.is_dir()


def test_other_locked_versions_are_noticed(repository: Repository) -> None:
    assert repository.has_other_lock(repository.find_commit("first"))
    assert not repository.has_other_lock(repository.find_commit("second"))


def test_changes_that_are_in_no_commit_are_noticed(repository: Repository) -> None:
    (repository.folder / "untracked").write_text("")
    assert not repository.has_changes()
    (repository.folder / "poetry.lock").write_text("third")
    assert repository.has_changes()


def test_a_folder_that_python_does_not_import_is_an_error(
    repository: Repository, tmp_path: Path
) -> None:
    check_imports(repository.folder, {**os.environ, **choose_variables(repository.folder)})
    with pytest.raises(DataError, match=f"wanted the package in {tmp_path / 'empty'}, got "):
        check_imports(tmp_path / "empty", {**os.environ, **choose_variables(tmp_path / "empty")})
