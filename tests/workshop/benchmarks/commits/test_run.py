"""The notes of a report, and one small comparison of a commit with itself."""

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
from workshop.benchmarks.pictures import Picture
from workshop.reporting.files import read_report

FIGURES = RoundFigures(10.0, 10.0, 10.0)


def picture(plates: int | None) -> Picture:
    return Picture("street", b"", np.zeros((1, 1, 3), np.uint8), plates)


def found(side: str, plates: int | None) -> Sample:
    return Sample(0, side, "street", 1, FIGURES, plates=plates)


def test_commits_that_find_what_was_drawn_need_no_note() -> None:
    assert [*compare_plates([], [picture(4)])] == []
    assert [*compare_plates([found(BASE, 4), found(HEAD, 4)], [picture(4)])] == []
    assert [*compare_plates([found(BASE, 4), found(HEAD, 4)], [picture(None)])] == []


@pytest.mark.parametrize("drawn", [4, None])
def test_another_number_of_plates_is_noted(drawn: int | None) -> None:
    notes = [*compare_plates([found(BASE, 4), found(HEAD, 3)], [picture(drawn)])]
    assert notes == ["street: plates found: base 4, head 3"]


def test_rendered_pictures_are_kept_and_come_first(tmp_path: Path) -> None:
    sets = Labels(rendered=1, seed=1).read(tmp_path)
    assert [(one.name, len(one.scenes)) for one in sets] == [("rendered", 1)]
    picture = sets[0].scenes[0].path
    picture.write_bytes(b"kept")
    again = Labels(1, 1, (tmp_path / "rendered-1-1",)).read(tmp_path)
    assert [one.name for one in again] == ["rendered", "rendered-1-1"]
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
    done = subprocess.run(
        [*command, f"--out={tmp_path / 'out'}"], cwd=CHECKOUT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "| calls/s, 1 call at once |" in done.stdout
    report = read_report(CommitReport, tmp_path / "out" / "report.json")
    assert report.base == report.head
    assert (report.accuracy[0].pictures, report.accuracy[0].changed) == (2, 0)
    assert {(sample.side, sample.plates) for sample in report.samples} == {("base", 1), ("head", 1)}
