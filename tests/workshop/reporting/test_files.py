"""Reports as files, tables, sheets, and the machine."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
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
from workshop.reporting.machine import Machine, describe_machine
from workshop.reporting.sheets import GAP_PX, arrange, cut_out, write_sheets
from workshop.reporting.tables import (
    Row,
    compare,
    format_count,
    format_figure,
    format_number,
    format_percent,
    format_table,
    ratio,
)


@dataclass(frozen=True)
class PlateTally:
    name: str
    plates: int
    rate: float | None


@dataclass(frozen=True)
class SmallReport:
    name: str
    best: PlateTally | None
    counts: tuple[PlateTally, ...]
    sums: Mapping[str, str]
    interval: tuple[float, float] | None = None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "report.json"


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(SmallReport("", None, (), {}), id="empty"),
        pytest.param(
            SmallReport(
                "ours",
                PlateTally("a", 3, 0.5),
                (PlateTally("b", 0, None),),
                {"yolo": "9f"},
                (0.1, 1.0),
            ),
            id="full",
        ),
    ],
)
def test_a_report_comes_back_as_it_was(file: Path, report: SmallReport) -> None:
    write_report(report, file)
    assert read_report(SmallReport, file) == report


def test_what_is_no_number_is_not_written(file: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report(PlateTally("a", 1, float("nan")), file)


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
        read_report(PlateTally, file)


def test_a_refused_value_is_named(file: Path) -> None:
    file.write_text('{"name": "", "best": null, "counts": [], "sums": ["9f"]}')
    with pytest.raises(DataError, match="sums: wanted a table"):
        read_report(SmallReport, file)
    file.write_text('{"max_plates": 0}')
    with pytest.raises(DataError, match="max_plates: wanted 1 to 1000, got 0"):
        read_report(Settings, file)


def test_rows_stand_under_their_fields(tmp_path: Path) -> None:
    write_csv(PlateTally, [], tmp_path / "counts.csv")
    assert (tmp_path / "counts.csv").read_text() == "name,plates,rate\n"
    write_csv(PlateTally, [PlateTally("a, b", 2, None)], tmp_path / "counts.csv")
    with (tmp_path / "counts.csv").open(newline="") as lines:
        assert list(csv.reader(lines)) == [["name", "plates", "rate"], ["a, b", "2", ""]]


def test_git_ignores_a_new_folder_and_an_old_one_stays_as_it_was(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "reports" / "new")
    assert (tmp_path / "reports" / "new" / ".gitignore").read_text() == "*\n"
    prepare_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["reports"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file: cannot write here: File exists"):
        prepare_folder(tmp_path / "file")


def test_a_full_disk_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No space"), explain_write_errors(tmp_path):
        raise OSError(28, "No space left on device")


def test_the_first_column_is_left_and_the_others_are_right() -> None:
    table = format_table(("", "plates", "ms"), [("std", 7, "1.25"), ("other", None, "30.0")])
    assert table == "       plates    ms\nstd         7  1.25\nother       -  30.0"


@pytest.mark.parametrize("format_", [format_count, format_figure, format_number, format_percent])
def test_a_missing_figure_is_a_dash(format_) -> None:
    assert format_(None) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"),
        (0.054, "0.05"),
        (1.234, "1.23"),
        (-1.234, "-1.23"),
        pytest.param(9.996, "10.0", id="rounded to one digit more"),
        (12.34, "12.3"),
        pytest.param(99.96, "100", id="rounded to a whole number"),
        (1234.5, "1234"),
    ],
)
def test_three_digits_mean_something(value: float, text: str) -> None:
    assert format_figure(value) == text


@dataclass(frozen=True)
class CallSpeed:
    calls: int
    p50_ms: float | None = None


ROWS = (
    Row[CallSpeed]("calls", lambda speed: speed.calls, format_count),
    Row[CallSpeed]("p50, ms", lambda speed: speed.p50_ms),
)


def test_each_report_has_a_column() -> None:
    rows = compare(ROWS, [CallSpeed(8, 1.5), CallSpeed(9)])
    assert rows == [["calls", "8", "9"], ["p50, ms", "1.50", "-"]]


def test_a_figure_that_no_report_has_is_left_out() -> None:
    assert compare(ROWS, [CallSpeed(8)]) == [["calls", "8"]]


def test_a_missing_figure_has_no_ratio() -> None:
    assert ratio(None, 2) is None
    assert ratio(1, 0) is None
    assert ratio(0, 2) == 0


RED = (0, 0, 255)


def plain(colour: tuple[int, int, int]) -> np.ndarray:
    return np.full((10, 20, 3), colour, np.uint8)


def test_tiles_are_laid_out_row_by_row() -> None:
    sheet = arrange([plain((9, 9, 9)), plain((8, 8, 8)), plain(RED)], columns=2)
    assert sheet.shape == (2 * 10 + 3 * GAP_PX, 2 * 20 + 3 * GAP_PX, 3)
    top_px, left_px = 10 + 2 * GAP_PX, GAP_PX
    assert (sheet[top_px : top_px + 10, left_px : left_px + 20] == RED).all()


def test_sheets_hold_so_many_tiles(tmp_path: Path) -> None:
    paths = write_sheets([plain(RED)] * 5, tmp_path, "misses", columns=2, rows=1)
    assert [path.name for path in paths] == ["misses_1.png", "misses_2.png", "misses_3.png"]
    assert cv2.imread(str(paths[2])).shape[1] == 20 + 2 * GAP_PX


def test_sheets_of_an_earlier_run_are_removed_and_no_others(tmp_path: Path) -> None:
    for name in ("misses_7.png", "other_1.png", "misses_all.png"):
        (tmp_path / name).touch()
    assert write_sheets([], tmp_path, "misses") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["misses_all.png", "other_1.png"]


def test_a_sheet_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_sheets([plain(RED)], tmp_path / "nowhere", "misses")


def test_a_view_is_centred_on_its_box() -> None:
    picture = np.zeros((40, 80, 3), np.uint8)
    picture[10:20, 40:60] = RED
    view, affine = cut_out(picture, (40, 10, 60, 20), (40, 20), span=1.0)
    assert view.shape == (20, 40, 3)
    assert view[10, 20].tolist() == list(RED)
    assert (affine @ [40, 10, 1]).tolist() == [0, 0]


def test_beyond_the_edge_a_view_is_grey() -> None:
    view, _ = cut_out(np.zeros((40, 80, 3), np.uint8), (0, 0, 20, 10), (40, 20), span=2.0)
    assert view[0, 0].tolist() == [150, 150, 150]


def test_a_machine_is_described_and_read_back(tmp_path: Path) -> None:
    machine = describe_machine("2.54.0")
    assert machine.triton == "2.54.0"
    assert machine.cores >= 1
    assert set(machine.packages) >= {"torch", "openvino"}
    write_report(machine, tmp_path / "machine.json")
    assert read_report(Machine, tmp_path / "machine.json") == machine


def test_without_a_server_there_is_no_version_of_it() -> None:
    assert describe_machine().triton is None
