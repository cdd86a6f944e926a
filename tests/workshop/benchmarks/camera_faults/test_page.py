"""The table of the faults of cameras, and the signs of a fault."""

from workshop.benchmarks.camera_faults.report import (
    TABLE,
    CameraRow,
    Telemetry,
    counts,
    is_zero,
    says,
    shows,
)
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
    _, _, kept_row, broken_row, skipped_row = TABLE.format_rows(REPORT).splitlines()
    assert kept_row == "| A is away | 12 | 0 | 0 | 0 | 0 | 0 | 0.3 s | 2.0 s | 4.3 s | kept |"
    assert broken_row.endswith("| 9.0 s | - | - | **1 vehicles lost; more** |")
    assert skipped_row.endswith("| - | not made here: no root |")
    assert list(format_notes(REPORT)) == ["A is away: seen"]


TOLD = Telemetry(
    log="a decoder has ended\n",
    before={'failures_total{sink="a"}': 2.0, "up": 1.0},
    samples=[{'failures_total{sink="a"}': 2.0, "up": 0.0}, {'failures_total{sink="a"}': 3.0}],
)


def test_a_line_of_the_log_is_a_sign() -> None:
    assert says("decoder has")(TOLD)
    assert not says("broker")(TOLD)


def test_a_counter_that_has_grown_is_a_sign() -> None:
    assert counts("failures_total")(TOLD)
    assert not counts("up")(TOLD)
    assert counts("new")(Telemetry("", {}, [{"new_total": 1.0}]))


def test_a_gauge_that_was_bad_for_a_moment_is_a_sign() -> None:
    assert shows("up", is_zero)(TOLD)
    assert not shows("failures", is_zero)(TOLD)
