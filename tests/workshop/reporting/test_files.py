import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.errors import DataError
from orchestrator.settings import Settings
from workshop.reporting.files import (
    explain_write_errors,
    prepare_folder,
    read_report,
    write_csv,
    write_report,
)


@dataclass(frozen=True)
class Count:
    name: str
    plates: int
    rate: float | None


@dataclass(frozen=True)
class Report:
    name: str
    best: Count | None
    counts: tuple[Count, ...]
    sums: Mapping[str, str]
    interval: tuple[float, float] | None = None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "report.json"


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(Report("", None, (), {}), id="empty"),
        pytest.param(
            Report("ours", Count("a", 3, 0.5), (Count("b", 0, None),), {"yolo": "9f"}, (0.1, 1.0)),
            id="full",
        ),
    ],
)
def test_a_report_comes_back_as_it_was(file: Path, report: Report) -> None:
    write_report(report, file)
    assert read_report(Report, file) == report


def test_what_is_no_number_is_not_written(file: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report(Count("a", 1, float("nan")), file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "report.json: wanted a JSON report", id="no JSON"),
        pytest.param("[]", r"content: wanted a table, got \[\]", id="a list"),
        pytest.param('{"name": "a", "plates": 1}', "wanted rate, got none", id="missing"),
        pytest.param(
            '{"name": "a", "plates": 1, "rate": 1, "f1": 1}',
            "wanted some of name, plates, rate, got f1",
            id="unknown",
        ),
        pytest.param(
            '{"name": "a", "plates": 1.5, "rate": 1}',
            "plates: wanted a whole number, got 1.5",
            id="another type",
        ),
        pytest.param(
            '{"name": null, "plates": 1, "rate": 1}',
            "name: wanted a text in quotes, got None",
            id="nothing where something must be",
        ),
    ],
)
def test_other_content_is_refused_with_what_was_wanted(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        read_report(Count, file)


def test_a_refused_value_is_named(file: Path) -> None:
    file.write_text('{"name": "", "best": null, "counts": [], "sums": ["9f"]}')
    with pytest.raises(DataError, match="sums: wanted a table"):
        read_report(Report, file)
    file.write_text('{"max_plates": 0}')
    with pytest.raises(DataError, match="max_plates: wanted 1 to 1000, got 0"):
        read_report(Settings, file)


def test_rows_stand_under_their_fields(tmp_path: Path) -> None:
    write_csv(Count, [], tmp_path / "counts.csv")
    assert (tmp_path / "counts.csv").read_text() == "name,plates,rate\n"
    write_csv(Count, [Count("a, b", 2, None)], tmp_path / "counts.csv")
    with (tmp_path / "counts.csv").open(newline="") as lines:
        assert list(csv.reader(lines)) == [["name", "plates", "rate"], ["a, b", "2", ""]]


def test_git_ignores_a_new_folder_and_an_old_one_stays_as_it_was(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "reports" / "new")
    assert (tmp_path / "reports" / "new" / ".gitignore").read_text() == "*\n"
    prepare_folder(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["reports"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file: cannot write here: File exists"):
        prepare_folder(tmp_path / "file")


def test_a_full_disk_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No space"), explain_write_errors(tmp_path):
        raise OSError(28, "No space left on device")
