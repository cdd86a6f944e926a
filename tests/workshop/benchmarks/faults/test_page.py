"""The table as it stands in a page."""

from pathlib import Path

import pytest

from orchestrator.errors import DataError
from workshop.benchmarks.fault_runs import Report, format_notes
from workshop.benchmarks.faults.report import TABLE, Counts, Row
from workshop.reporting.machine import Machine

COUNTS = Counts(10, 7, {"503": 2, "UNAVAILABLE": 1}, 0, 0, 2.345)
KEPT = Row("a", 8, 40.4, 0.3, Counts(10, 10, {}, 0, 0, 0.31), 1.26, notes=("seen",))
BROKEN = Row("b", 8, 40.4, 0.3, COUNTS, None, ("3 calls refused", "did not recover"))
SKIPPED = Row("c", skipped="no libfaketime")
REPORT = Report(
    "2026-11-22", 90.0, Machine("CPU", 2, 10**9, None, "Linux", "3.12", None, {}),
    (KEPT, BROKEN, SKIPPED),
)  # fmt: skip
PAGE = "before\n<!-- figures: faults -->\nold\n<!-- end of figures -->\nafter\n"


def cells(line: str) -> list[str]:
    return line.strip("| \n").split(" | ")


def test_each_fault_is_a_row() -> None:
    assert list(format_notes(REPORT)) == ["a: seen"]
    header, _, kept, broken, skipped = TABLE.format_rows(REPORT).splitlines()
    assert cells(header) == ["fault", *TABLE.columns, "promise"]
    assert cells(kept) == ["a", "8, 40", "10", "10", "0", "0", "0", "0.3 s", "1.3 s", "kept"]
    assert cells(broken)[4:] == [
        "2 (503), 1 (UNAVAILABLE)", "0", "0", "2.3 s", "-", "**3 calls refused; did not recover**",
    ]  # fmt: skip
    assert cells(skipped) == ["c", *["-"] * 8, "not made here: no libfaketime"]


def test_the_page_is_written_between_its_marks_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    TABLE.write_page(page, REPORT)
    text = page.read_text()
    assert text.startswith("before\n<!-- figures: faults -->\n\n2026-11-22, CPU, 2 cores: 1 of 2 ")
    assert text.endswith("|\n\n<!-- end of figures -->\nafter\n")
    assert "old" not in text


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(DataError, match="wanted the part faults, got none"):
        TABLE.write_page(page, REPORT)
    with pytest.raises(DataError, match="No such file"):
        TABLE.write_page(tmp_path / "none.md", REPORT)
    assert page.read_text() == "nothing"
