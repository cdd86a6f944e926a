"""The table of the faults of cameras as it stands in a page, beside others."""

from pathlib import Path

import pytest

from orchestrator.errors import DataError
from workshop.benchmarks.camera_faults.report import TABLE, CameraRow
from workshop.benchmarks.fault_runs import Report, format_notes
from workshop.reporting.machine import Machine

KEPT = CameraRow("a", "A is away", 12, gap_s=0.31, back_s=2.0, told_s=4.26, notes=("seen",))
BROKEN = CameraRow("b", "B is away", 12, lost=1, gap_s=9.0, broken=("1 vehicles lost", "more"))
SKIPPED = CameraRow("c", "C is away", skipped="no root")
MACHINE = Machine("CPU", 2, 10**9, None, "Linux", "3.12", None, {})
REPORT = Report("2026-11-26", 90.0, MACHINE, (KEPT, BROKEN, SKIPPED))
OTHER = "<!-- figures: faults -->\n\nothers\n\n<!-- end of figures -->\n"
PAGE = f"{OTHER}<!-- figures: camera-faults -->\nearlier\n<!-- end of figures -->\nafter\n"


def test_each_fault_is_a_row() -> None:
    _, _, kept, broken, skipped = TABLE.format_rows(REPORT).splitlines()
    assert kept == "| A is away | 12 | 0 | 0 | 0 | 0 | 0 | 0.3 s | 2.0 s | 4.3 s | kept |"
    assert broken.endswith("| 9.0 s | - | - | **1 vehicles lost; more** |")
    assert skipped.endswith("| - | not made here: no root |")
    assert list(format_notes(REPORT)) == ["A is away: seen"]


def test_only_its_own_part_of_the_page_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    TABLE.write_page(page, REPORT)
    text = page.read_text()
    assert text.startswith(
        f"{OTHER}<!-- figures: camera-faults -->\n\n2026-11-26, CPU, 2 cores: 1 of 2"
    )
    assert text.endswith("|\n\n<!-- end of figures -->\nafter\n")
    assert "earlier" not in text


def test_a_page_without_this_part_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(OTHER)
    with pytest.raises(DataError, match="wanted the part camera-faults, got faults"):
        TABLE.write_page(page, REPORT)
    assert page.read_text() == OTHER
