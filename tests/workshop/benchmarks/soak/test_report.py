"""Trends of quantities, and the report that judges them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from orchestrator.errors import SettingsError
from workshop.benchmarks.soak.command import Plan
from workshop.benchmarks.soak.report import (
    SoakReport,
    format_report,
    judge_latency,
    judge_samples,
    list_roles,
)
from workshop.benchmarks.soak.samples import Calls, HeldResources, Sample, plot_samples, tabulate
from workshop.benchmarks.soak.trends import Allowance, Array, judge, judge_drift
from workshop.reporting.machine import Machine

MACHINE = Machine("a CPU", 2, 2**30, None, "Linux", "3.11", None, {})


def samples(
    leak_kb: float = 0, descriptors: int = 0, p50_late: float = 50, shm_mb: float = 0
) -> pd.DataFrame:
    """The table of a run of 10,000 calls, in which the gateway may leak so much with every call."""
    rows = []
    for number in range(101):
        calls = 100 * number
        roles = {
            "gateway": HeldResources(
                80 + leak_kb * calls / 1024, 30 + descriptors * calls // 1000, 12
            ),
            "yolo": HeldResources(300 + number % 7, 10, 16),
        }
        p50 = 50 if number < 70 else p50_late
        rows.append(
            Sample(
                float(number), Calls(calls, p50_ms=p50, p95_ms=90), roles,
                {1: "gateway", 2: "yolo"}, 80 + shm_mb * calls / 1000, 40,
            )
        )  # fmt: skip
    return tabulate(rows)


def report_of(table: pd.DataFrame, **others: object) -> SoakReport:
    quiet = SoakReport(MACHINE, 4, 100.0, Calls(10_000), judge_samples(table), None, (), (), (), "")
    return replace(quiet, **others)


def growing(table: pd.DataFrame) -> list[tuple[str, str]]:
    return [(quantity.of, quantity.name) for quantity in report_of(table).growing]


@pytest.mark.parametrize(
    ("table", "names"),
    [
        pytest.param(samples(), [], id="nothing"),
        pytest.param(samples(leak_kb=20), [("gateway", "memory_mb")], id="memory"),
        pytest.param(samples(leak_kb=2), [], id="less than such a run can tell"),
        pytest.param(samples(descriptors=2), [("gateway", "descriptors")], id="descriptors"),
        pytest.param(samples(shm_mb=8), [("/dev/shm", "MiB")], id="shared memory"),
    ],
)
def test_each_growing_quantity_is_named(table: pd.DataFrame, names: list[tuple[str, str]]) -> None:
    assert growing(table) == names


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
            {"quantities": judge_samples(samples()[:3])},
            "Too few samples",
            id="too short",
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


def test_samples_become_lines_of_a_table_and_a_picture(tmp_path: Path) -> None:
    table = samples(leak_kb=1024)
    assert len(table) == 101
    line = table.loc[1, ["calls", "memory_mb gateway", "p50_ms", "threads yolo"]]
    assert line.tolist() == [100, 180.0, 50, 16]
    assert list_roles(table) == ["gateway", "yolo"]
    plot_samples(table, tmp_path / "soak.png", is_by_time=True)
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")


def test_a_role_without_a_process_has_zeros_and_a_missing_latency_stays_missing() -> None:
    late = Sample(1.0, Calls(1, p50_ms=5.0), {"stn": HeldResources(1, 2, 3)}, {}, 0, 0)
    table = tabulate([Sample(0.0, Calls(), {}, {}, 0, 0), late])
    assert table["threads stn"].tolist() == [0, 3]
    assert table["p50_ms"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"calls": 1, "minutes": 1}, "wanted --calls or --minutes", id="both"),
        pytest.param({"calls": 0}, "calls: wanted 1", id="no calls"),
        pytest.param({"calls": 1, "callers": 0}, "callers: wanted 1", id="no callers"),
        pytest.param({"minutes": 1, "every_s": 0}, "every_s: wanted", id="no time between"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Plan(**settings).check()


def test_without_a_length_a_run_has_a_thousand_calls() -> None:
    assert (Plan().most_calls, Plan().length) == (1000, "1,000 calls")
    assert (Plan(minutes=2).most_calls, Plan(minutes=2).length) == (None, "2 minutes")


CALLS = np.linspace(0, 10_000, 401)
"""Numbers of calls at the samples: a run of 10,000 calls with a sample every 25."""
ALLOWANCE = Allowance(noise=8, per_1000=0.1)
NOISE = np.random.default_rng(0).normal(0, 2, len(CALLS))


def tooth(period: float, height: float) -> Array:
    """Return what rises and falls back at once."""
    return height * (CALLS % period) / period


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(100 + CALLS * 2 / 1000, id="a leak"),
        pytest.param(100 + CALLS * 2 / 1000 + NOISE, id="a leak under noise"),
        pytest.param(100 + CALLS * 2 / 1000 + tooth(500, 50), id="a leak under a saw-tooth"),
        pytest.param(100 + 4 * np.floor(CALLS / 1000), id="a leak in steps"),
        pytest.param(
            np.where(CALLS < 9000, 100 + CALLS / 500, 100),
            id="a leak until its process is replaced",
        ),
    ],
)
def test_growth_is_found(values: Array) -> None:
    assert judge(CALLS, values, ALLOWANCE).grows


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.full(len(CALLS), 100.0), id="flat"),
        pytest.param(100 + NOISE, id="noise"),
        pytest.param(np.minimum(100 + CALLS / 10, 300), id="a slow warm-up"),
        pytest.param(np.where(CALLS < 2000, 100, 400), id="a step in the warm-up"),
        pytest.param(np.where(CALLS < 8500, 100, 160), id="one step later"),
        pytest.param(100 + tooth(300, 80), id="a saw-tooth"),
        pytest.param(100 + tooth(150, 80) + NOISE, id="a saw-tooth under noise"),
        pytest.param(100 + 500 * (CALLS % 1000 == 0), id="peaks"),
        pytest.param(300 - CALLS / 50, id="less and less"),
        pytest.param(100 + CALLS * 0.09 / 1000, id="less than is allowed"),
    ],
)
def test_noise_steps_and_saw_teeth_are_not_growth(values: Array) -> None:
    assert not judge(CALLS, values, ALLOWANCE).grows


@pytest.mark.parametrize(
    ("rate", "calls", "grows"),
    [
        pytest.param(5, 1_000, False, id="of 3 MB in a short run nobody knows"),
        pytest.param(5, 10_000, True, id="a longer one tells"),
        pytest.param(0.5, 10_000, False, id="too little for the longer one"),
        pytest.param(0.5, 100_000, True, id="an hour tells that, too"),
    ],
)
def test_a_longer_run_finds_a_smaller_leak(rate: float, calls: int, grows: bool) -> None:
    x = np.linspace(0, calls, 201)
    assert judge(x, 100 + rate * x / 1000, ALLOWANCE).grows == grows


def test_a_trend_tells_what_was_there() -> None:
    calls = [0, 200, 400, 500, 600, 700, 800]
    trend = judge(calls, [90, 50, 10, 11, 12, 13, 14], Allowance(noise=2, per_1000=1))
    assert (trend.first, trend.last, trend.most) == (10, 14, 90)
    assert trend.per_1000 == pytest.approx(10)
    assert trend.limit == pytest.approx(1 + 2 / 0.4)
    assert trend.grows


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([0, 50, 100], id="three samples"),
        pytest.param([7, 7, 7, 7, 7, 7], id="no calls"),
    ],
)
def test_too_short_a_run_is_not_judged(calls: list[int]) -> None:
    trend = judge(calls, [1.0] * len(calls), ALLOWANCE)
    assert (trend.is_known, trend.grows) == (False, False)


@pytest.mark.parametrize(
    ("late", "grows"),
    [
        pytest.param(30.0, False, id="same"),
        pytest.param(44.0, False, id="a busier machine"),
        pytest.param(46.0, True, id="half as long again"),
    ],
)
def test_drift_is_that_of_the_last_quarter(late: float, grows: bool) -> None:
    drift = judge_drift([500.0] * 9 + [30.0] * 9 + [10.0] * 9 + [late] * 9)
    assert (drift.early_ms, drift.late_ms, drift.grows) == (30, late, grows)
