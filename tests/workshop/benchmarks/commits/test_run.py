"""Commits that are checked out, read pictures and are described."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orchestrator.cli.workshop import CHECKOUT
from orchestrator.errors import DataError
from workshop.benchmarks.bench.pooling import RoundFigures
from workshop.benchmarks.commits.__main__ import Labels, compare_plates
from workshop.benchmarks.commits.accuracy import BASE, HEAD
from workshop.benchmarks.commits.measurement import Sample
from workshop.benchmarks.commits.report import CommitReport
from workshop.benchmarks.commits.worktrees import Repository, check_imports, choose_variables
from workshop.benchmarks.pictures import Picture
from workshop.reporting.files import read_report

FIGURES = RoundFigures(10.0, 10.0, 10.0)


def picture(plates: int | None) -> Picture:
    return Picture("street", b"", np.zeros((1, 1, 3), np.uint8), plates)


def make_sample(side: str, plates: int | None) -> Sample:
    return Sample(0, side, "street", 1, FIGURES, plates=plates)


def test_commits_that_find_what_was_drawn_need_no_note() -> None:
    assert [*compare_plates([], [picture(4)])] == []
    assert [*compare_plates([make_sample(BASE, 4), make_sample(HEAD, 4)], [picture(4)])] == []
    assert [*compare_plates([make_sample(BASE, 4), make_sample(HEAD, 4)], [picture(None)])] == []


@pytest.mark.parametrize("plates", [4, None])
def test_another_number_of_plates_is_noted(plates: int | None) -> None:
    notes = [*compare_plates([make_sample(BASE, 4), make_sample(HEAD, 3)], [picture(plates)])]
    assert notes == ["street: plates found: base 4, head 3"]


def test_rendered_pictures_are_kept_and_come_first(tmp_path: Path) -> None:
    sets = Labels(rendered=1, seed=1).read(tmp_path)
    assert [(picture_set.name, len(picture_set.scenes)) for picture_set in sets] == [
        ("rendered", 1)
    ]
    picture = sets[0].scenes[0].path
    picture.write_bytes(b"kept")
    again = Labels(1, 1, (tmp_path / "rendered-1-1",)).read(tmp_path)
    assert [picture_set.name for picture_set in again] == ["rendered", "rendered-1-1"]
    assert picture.read_bytes() == b"kept"
    assert [file.name for file in tmp_path.iterdir()] == ["rendered-1-1"]


def test_without_labelled_pictures_nothing_is_rendered(tmp_path: Path) -> None:
    assert Labels(rendered=0, seed=1).read(tmp_path / "none") == ()


def test_a_folder_without_labels_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="wanted a folder, got none"):
        Labels(rendered=1, seed=1, folders=(tmp_path,)).read(tmp_path)


@pytest.mark.nightly
@pytest.mark.server
@pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="needs the repository")
def test_a_commit_compared_with_itself_gives_the_same_answers(tmp_path: Path) -> None:
    small = ["--rounds=1", "--seconds=0.3", "--plates=1", "--calls=1", "--rendered=2"]
    small += ["--option=--pictures=1", "--option=--threads=1"]
    command = [sys.executable, "-m", "workshop.benchmarks.commits", "HEAD", *small]
    result = subprocess.run(
        [*command, f"--out={tmp_path / 'out'}"], cwd=CHECKOUT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "| calls/s, 1 call at once |" in result.stdout
    report = read_report(CommitReport, tmp_path / "out" / "report.json")
    assert report.base == report.head
    assert (report.accuracy[0].pictures, report.accuracy[0].changed) == (2, 0)
    assert {(sample.side, sample.plates) for sample in report.samples} == {("base", 1), ("head", 1)}


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
