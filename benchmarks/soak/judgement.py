"""Whether something grows: a line through the least values of a run, warm-up left out.

A process that leaks needs more after each call, and for ever. So what is judged is the slope per
1,000 calls, and four things that look like growth for a while must not pass for it:

- **The warm-up.** Pools of threads and connections fill, and an allocator keeps room for the
  largest picture in each of its arenas, eight for each core, which takes hundreds of calls until
  each has had one. `WARM_UP` calls are not judged, but at most half of a run and at least a third.
- **A saw-tooth.** Garbage collectors and pools let things rise and fall. Of each of `MARKS` equal
  parts of the rest only the least value counts, the low-water mark: a saw-tooth's stays where it
  is, a leak's rises.
- **Outliers and single steps.** The slope is Theil and Sen's, the median of the slopes between
  all pairs of marks. It stays right while up to 29 % of the marks are anything at all, so a pool
  that grows once is no leak, nor is a machine that is busy for a moment.
- **Noise in a short run.** A slope of few calls says little: one megabyte within 600 calls looks
  like 1.6 MB per 1,000. So the limit of a slope is `per_1000 + noise / (thousands of calls
  judged)`: what may come and go in any run, spread over its length, and what may be left beside it.
  The longer a run, the smaller the leak that it finds.

Source: Sen 1968, "Estimates of the regression coefficient based on Kendall's tau" (the slope and
what it withstands).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WARM_UP = 500
MARKS = 20
FEWEST_MARKS = 4
MOST_DRIFT = 1.5
"""Latency of the last quarter over that of the second: more than other work on a machine does to
medians of many minutes, less than a queue or a table that gets longer does in an hour."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Allowance:
    """What something may grow by.

    Attributes:
        noise: In any run, whatever its length.
        per_1000: Beside that, for each 1,000 calls.
    """

    noise: float
    per_1000: float

    def limit(self, calls: float) -> float:
        """Return the steepest slope, per 1,000 calls, that so many judged calls may show."""
        return self.per_1000 + 1000 * self.noise / calls


@dataclass(frozen=True)
class Trend:
    """How something went after the warm-up.

    Attributes:
        first: Its first low-water mark.
        last: Its last one.
        most: The largest value, of the warm-up too.
        per_1000: Slope, for each 1,000 calls; None where there are too few samples to tell.
        limit: Of the slope.
    """

    first: float
    last: float
    most: float
    per_1000: float | None
    limit: float

    @property
    def is_known(self) -> bool:
        return self.per_1000 is not None

    @property
    def grows(self) -> bool:
        return self.per_1000 is not None and self.per_1000 > self.limit


@dataclass(frozen=True)
class Drift:
    """Latency early and late, milliseconds; the limit is that of late / early."""

    early_ms: float
    late_ms: float
    limit: float = MOST_DRIFT

    @property
    def ratio(self) -> float:
        return self.late_ms / self.early_ms

    @property
    def grows(self) -> bool:
        return self.ratio > self.limit


def judge(calls: Sequence[float], values: Sequence[float], allowance: Allowance) -> Trend:
    """Judge one quantity by its samples.

    Args:
        calls: (N,) ended when each sample was taken; they only rise.
        values: (N,) what was there.
        allowance: What it may grow by.
    """
    x, y = np.asarray(calls, float), np.asarray(values, float)
    is_judged = x >= find_warm_up(calls)
    marks_x, marks_y = find_low_water(x[is_judged], y[is_judged])
    span = float(marks_x[-1] - marks_x[0])
    is_enough = len(marks_x) >= FEWEST_MARKS and span > 0
    return Trend(
        first=float(marks_y[0]),
        last=float(marks_y[-1]),
        most=float(y.max()),
        per_1000=1000 * find_slope(marks_x, marks_y) if is_enough else None,
        limit=allowance.limit(max(1.0, span)),
    )


def find_warm_up(calls: Sequence[float]) -> float:
    """Return the number of calls at which the warm-up is over."""
    made = calls[-1] - calls[0]
    return calls[0] + min(made / 2, max(made / 3, WARM_UP))


def find_low_water(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the place and the value of the least of each of `MARKS` parts of the samples.

    Args:
        x: (N,).
        y: (N,).

    Returns:
        Two arrays (M,), M at most `MARKS`: as many as there are samples where these are fewer.
    """
    parts = np.array_split(np.arange(len(y)), min(MARKS, len(y)))
    lowest = np.array([part[np.argmin(y[part])] for part in parts])
    return x[lowest], y[lowest]


def find_slope(x: Array, y: Array) -> float:
    """Return Theil and Sen's slope: the median of those between all pairs of points.

    Pairs at the same x have none.
    """
    first, second = np.triu_indices(len(x), k=1)
    run = x[second] - x[first]
    rise = y[second] - y[first]
    return float(np.median(rise[run > 0] / run[run > 0]))


def judge_drift(latencies_ms: Sequence[float]) -> Drift:
    """Compare the median of the last quarter with that of the second.

    Args:
        latencies_ms: In the order of a run, four at least.
    """
    quarter = len(latencies_ms) // 4
    early, late = latencies_ms[quarter : 2 * quarter], latencies_ms[-quarter:]
    return Drift(float(np.median(early)), float(np.median(late)))
