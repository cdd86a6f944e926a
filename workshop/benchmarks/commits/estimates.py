"""Estimates the ratio of a figure at two commits, with its 95 % confidence interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from workshop.evaluation.proportions import Z_95

T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The two-sided 95 % quantiles of Student's distribution, from one degree of freedom on."""


@dataclass(frozen=True)
class Estimate:
    """A ratio and its interval; `low` and `high` are None with a single round."""

    value: float
    low: float | None = None
    high: float | None = None


def estimate_ratio(logs: Sequence[float]) -> Estimate:
    """Return the geometric mean of ratios, with its 95 % confidence interval.

    Each round gives one ratio. So the interval includes all that differs between rounds: the
    noise of the machine, and the chance in each start of a server.

    Args:
        logs: The natural logarithm of the ratio of each round; at least one.

    Source: Student 1908, "The probable error of a mean"; Kalibera and Jones 2013, "Rigorous
    benchmarking in reasonable time".
    """
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Estimate(math.exp(mean))
    spread = quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Estimate(math.exp(mean), math.exp(mean - spread), math.exp(mean + spread))


def quantile(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's distribution.

    Args:
        freedom: The degrees of freedom, at least 1.

    Source of the expansion beyond the table: Abramowitz and Stegun 1964, 26.7.5.
    """
    if freedom <= len(T_95):
        return T_95[freedom - 1]
    first = (Z_95**3 + Z_95) / 4
    second = (5 * Z_95**5 + 16 * Z_95**3 + 3 * Z_95) / 96
    return Z_95 + first / freedom + second / freedom**2
