"""Detection of growth in samples, without false alarms."""

import numpy as np
import pytest

from workshop.benchmarks.soak.trends import (
    Allowance,
    Array,
    judge,
    judge_drift,
)

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
