"""Report of the soak test: its findings from samples, its text and its files."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import DataError, SettingsError
from workshop.benchmarks.soak.command import Plan
from workshop.benchmarks.soak.diagrams import MAX_POINTS, plot_samples, thin
from workshop.benchmarks.soak.files import publish, write_samples
from workshop.benchmarks.soak.report import (
    SoakReport,
    judge_latency,
    judge_samples,
)
from workshop.benchmarks.soak.samples import Calls, Held, Sample
from workshop.benchmarks.soak.text import format_report, format_section
from workshop.reporting.machine import Machine

MACHINE = Machine("a CPU", 2, 2**30, None, "Linux", "3.11", None, {})


def samples(
    leak_kb: float = 0, descriptors: int = 0, p50_late: float = 50, shm_mb: float = 0
) -> list[Sample]:
    """A run of 10,000 calls, in which the gateway may leak so much with every call."""
    made = []
    for number in range(101):
        calls = 100 * number
        roles = {
            "gateway": Held(80 + leak_kb * calls / 1024, 30 + descriptors * calls // 1000, 12),
            "yolo": Held(300 + number % 7, 10, 16),
        }
        p50 = 50 if number < 70 else p50_late
        made.append(
            Sample(
                float(number), Calls(calls, p50_ms=p50, p95_ms=90), roles,
                {1: "gateway", 2: "yolo"}, 80 + shm_mb * calls / 1000, 40,
            )
        )  # fmt: skip
    return made


def report_of(made: list[Sample], **others: object) -> SoakReport:
    quiet = SoakReport(MACHINE, 4, 100.0, made[-1].calls, judge_samples(made), None, (), (), (), "")
    return replace(quiet, **others)


def growing(made: list[Sample]) -> list[tuple[str, str]]:
    return [(one.of, one.name) for one in report_of(made).growing]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        pytest.param(samples(), [], id="nothing"),
        pytest.param(samples(leak_kb=20), [("gateway", "memory_mb")], id="memory"),
        pytest.param(samples(leak_kb=2), [], id="less than such a run can tell"),
        pytest.param(samples(descriptors=2), [("gateway", "descriptors")], id="descriptors"),
        pytest.param(samples(shm_mb=8), [("/dev/shm", "MiB")], id="shared memory"),
    ],
)
def test_each_growing_quantity_is_named(made: list[Sample], found: list[tuple[str, str]]) -> None:
    assert growing(made) == found


@pytest.mark.parametrize(
    ("others", "words"),
    [
        pytest.param({"wrong": ("a street: wanted 200, got 503",)}, "got 503", id="wrong"),
        pytest.param({"replaced": ("yolo: 1 ended, 1 began",)}, "yolo: 1 ended", id="replaced"),
        pytest.param({"left": ("2 files in /dev/shm",)}, "2 files in", id="left behind"),
        pytest.param(
            {"quantities": judge_samples(samples(leak_kb=20))},
            "GROWS: gateway, memory, MiB: 19.5 per 1,000 calls, at most 10.3",
            id="grows",
        ),
        pytest.param({"ended": "interrupted"}, "ended early: interrupted", id="ended early"),
        pytest.param({"drift": judge_latency(samples(p50_late=80))}, "SLOWER: median", id="slower"),
        pytest.param(
            {"quantities": judge_samples(samples()[:3])}, "Too few samples", id="too short"
        ),
    ],
)
def test_a_problem_fails_a_run_and_is_described(others: dict[str, object], words: str) -> None:
    report = report_of(samples(), **others)
    assert report.has_failed
    assert words in format_report(report, "10,000 calls")
    assert "Nothing grows" not in format_report(report, "10,000 calls")


def test_a_run_in_which_nothing_grows_says_so() -> None:
    report = report_of(samples(), drift=judge_latency(samples()))
    assert not report.has_failed
    assert judge_latency(samples()[:20]) is None
    assert format_report(report, "10,000 calls").endswith("Nothing grows.")


def test_samples_become_lines_of_a_table(tmp_path: Path) -> None:
    write_samples(samples(leak_kb=1024), tmp_path / "samples.csv")
    with (tmp_path / "samples.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    assert len(lines) == 101
    assert (lines[1]["calls"], lines[1]["memory_mb gateway"]) == ("100", "180.0")
    assert (lines[1]["p50_ms"], lines[1]["threads yolo"]) == ("50", "16")


def test_samples_become_a_picture(tmp_path: Path) -> None:
    plot_samples(samples(), tmp_path / "soak.png", is_by_time=True)
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")


def test_a_long_curve_is_thinned_by_medians_and_gaps_are_left_out() -> None:
    many = MAX_POINTS * 5
    x, y = thin(range(many), [float("nan")] * 5 + [1.0, 1.0, 1.0, 9.0, 1.0] * (MAX_POINTS - 1))
    assert (len(x), x[0], set(y)) == (MAX_POINTS - 1, 7, {1.0})


def test_a_run_is_published_beside_its_page(tmp_path: Path) -> None:
    plan = Plan(out=tmp_path / "out", calls=10_000, publish=tmp_path / "soak.png")
    plan.out.mkdir()
    (plan.out / "soak.png").write_bytes(b"a plot")
    report = report_of(samples())
    with pytest.raises(DataError, match=r"soak\.md: No such file"):
        publish(report, plan)
    (tmp_path / "soak.md").write_text("# Soak\n")
    with pytest.raises(DataError, match="wanted the part soak, got none"):
        publish(report, plan)
    (tmp_path / "soak.md").write_text("<!-- figures: soak -->\nold\n<!-- end of figures -->\n")
    publish(report, plan)
    page = (tmp_path / "soak.md").read_text()
    assert (tmp_path / "soak.png").read_bytes() == b"a plot"
    assert "![10,000 calls](soak.png)" in page
    assert format_section(report, "10,000 calls") in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"calls": 1, "minutes": 1}, "wanted --calls or --minutes", id="both"),
        pytest.param({"calls": 0}, "calls: wanted 1", id="no calls"),
        pytest.param({"calls": 1, "callers": 0}, "callers: wanted 1", id="no callers"),
        pytest.param({"minutes": 1, "every_s": 0}, "every_s: wanted", id="no time between"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Plan(**given).check()


def test_without_a_length_a_run_has_a_thousand_calls() -> None:
    assert (Plan().most_calls, Plan().length) == (1000, "1,000 calls")
    assert (Plan(minutes=2).most_calls, Plan(minutes=2).length) == (None, "2 minutes")
