"""Judges whether a quantity grows: fits a line through the lowest values after the warm-up.

A process with a leak needs more after each call, without end. So the slope per 1,000 calls is
judged. Four effects look like growth for a while, and must not count as growth:

- **The warm-up.** Pools of threads and connections fill. An allocator keeps room for the largest
  picture in each of its arenas, eight for each core. It takes hundreds of calls until each arena
  has had one. So `WARM_UP` calls are not judged, but at most half of a run and at least a third.
- **A saw-tooth.** Garbage collectors and pools make values rise and fall. The rest of the run is
  split into up to `MARKS` equal parts of at least `MIN_SAMPLES`. Only the lowest value of each
  part counts, the low-water mark. The marks of a saw-tooth stay level, those of a leak rise.
- **Outliers and single steps.** The slope is Theil and Sen's, the median of the slopes between
  all pairs of marks. It stays right while up to 29 % of the marks have any value. So a pool that
  grows once is not a leak, and neither is a machine that is busy for a moment.
- **Noise in a short run.** A slope of few calls says little: one megabyte within 600 calls looks
  like 1.6 MB per 1,000. So the limit of a slope is `per_1000 + noise / (thousands of calls
  judged)`. The growth `noise` may come and go in any run, and is spread over its length. The
  slope `per_1000` may remain in addition. The longer a run, the smaller the leak that it finds.

Source: Sen 1968, "Estimates of the regression coefficient based on Kendall's tau" (the slope and
what it withstands).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WARM_UP = 500
MARKS, MIN_SAMPLES = 20, 4
MIN_MARKS = 4
MAX_DRIFT = 1.5
"""The highest allowed ratio of latencies: the last quarter of a run over the second quarter.

Other work on the machine changes medians of many minutes by less. A queue or a table that gets
longer changes them by more within an hour."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Allowance:
    """The growth that is allowed for a quantity.

    Attributes:
        noise: The allowed growth in any run, independent of its length.
        per_1000: The additional allowed growth for each 1,000 calls.
    """

    noise: float
    per_1000: float

    def limit(self, calls: float) -> float:
        """Return the steepest allowed slope, per 1,000 calls, for this number of judged calls."""
        return self.per_1000 + 1000 * self.noise / calls


@dataclass(frozen=True)
class Trend:
    """The course of one quantity after the warm-up.

    Attributes:
        most: The largest value, including the warm-up.
        per_1000: The slope for each 1,000 calls; None when there are too few samples.
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
    """Early and late latency of a run, in milliseconds; the limit applies to late / early."""

    early_ms: float
    late_ms: float
    limit: float = MAX_DRIFT

    @property
    def ratio(self) -> float:
        return self.late_ms / self.early_ms

    @property
    def grows(self) -> bool:
        return self.ratio > self.limit


def judge(calls: Sequence[float], values: Sequence[float], allowance: Allowance) -> Trend:
    """Judge one quantity by its values (N,) and the numbers of ended calls (N,) by then."""
    x, y = np.asarray(calls, float), np.asarray(values, float)
    is_judged = x >= find_warm_up(calls)
    marks_x, marks_y = find_low_water(x[is_judged], y[is_judged])
    span = float(marks_x[-1] - marks_x[0])
    is_enough = len(marks_x) >= MIN_MARKS and span > 0
    return Trend(
        first=float(marks_y[0]),
        last=float(marks_y[-1]),
        most=float(y.max()),
        per_1000=1000 * find_slope(marks_x, marks_y) if is_enough else None,
        limit=allowance.limit(max(1.0, span)),
    )


def find_warm_up(calls: Sequence[float]) -> float:
    """Return the number of calls at which the warm-up ends."""
    total = calls[-1] - calls[0]
    return calls[0] + min(total / 2, max(total / 3, WARM_UP))


def find_low_water(x: Array, y: Array) -> tuple[Array, Array]:
    """Return x and y (M,) of the lowest points of up to `MARKS` equal parts of (N,) samples."""
    most = max(len(y) // MIN_SAMPLES, min(MIN_MARKS, len(y)))
    parts = np.array_split(np.arange(len(y)), min(MARKS, most))
    lowest = np.array([part[np.argmin(y[part])] for part in parts])
    return x[lowest], y[lowest]


def find_slope(x: Array, y: Array) -> float:
    """Return Theil and Sen's slope: the median of the slopes between all pairs of points.

    Pairs of points at the same x have no slope and are left out.
    """
    first, second = np.triu_indices(len(x), k=1)
    dx = x[second] - x[first]
    dy = y[second] - y[first]
    return float(np.median(dy[dx > 0] / dx[dx > 0]))


def judge_drift(latencies_ms: Sequence[float]) -> Drift:
    """Compare the median of the last quarter of a run with that of the second; at least four."""
    quarter = len(latencies_ms) // 4
    early, late = latencies_ms[quarter : 2 * quarter], latencies_ms[-quarter:]
    return Drift(float(np.median(early)), float(np.median(late)))
