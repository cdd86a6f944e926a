"""Proportions: confidence intervals, and bins of values."""

from __future__ import annotations

import math
from itertools import pairwise

Z_95 = 1.959964
"""The two-sided 95 % quantile of the normal distribution."""


def wilson_interval(successes: int, trials: int) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of a proportion; None without trials.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if not trials:
        return None
    rate, z2 = successes / trials, Z_95**2
    centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    spread = math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials) * Z_95
    return max(0.0, centre - spread), min(1.0, centre + spread)


def paired_interval(both: int, only_new: int, only_old: int, neither: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of the difference, new - old, of two paired proportions.

    Args:
        both: The number of trials that succeed in both; there must be a trial of any kind.
        only_new: The number of trials that succeed in the new one alone.
        only_old: The number of trials that succeed in the old one alone.
        neither: The number of trials that fail in both.

    Source: Newcombe 1998, "Improved confidence intervals for the difference between binomial
    proportions based on paired data", method 10.
    """
    trials = both + only_new + only_old + neither
    new, old = (both + only_new) / trials, (both + only_old) / trials
    new_low, new_high = wilson_interval(both + only_new, trials) or (0.0, 1.0)
    old_low, old_high = wilson_interval(both + only_old, trials) or (0.0, 1.0)
    phi = _correlate(both, only_new, only_old, neither)
    down = _combine(new - new_low, old_high - old, phi)
    up = _combine(new_high - new, old - old_low, phi)
    return new - old - down, new - old + up


def _correlate(both: int, only_new: int, only_old: int, neither: int) -> float:
    """Return the correlation of paired proportions; a positive one with continuity correction."""
    rows = (both + only_new) * (only_old + neither)
    columns = (both + only_old) * (only_new + neither)
    if not rows * columns:
        return 0.0
    excess: float = both * neither - only_new * only_old
    if excess > 0:
        excess = max(excess - (both + only_new + only_old + neither) / 2, 0)
    return excess / math.sqrt(rows * columns)


def _combine(deviation: float, other: float, phi: float) -> float:
    """Return the length of the difference of two deviations with this correlation."""
    return math.sqrt(max(0.0, deviation**2 - 2 * phi * deviation * other + other**2))


def bin_of(value: float, edges: tuple[float, ...]) -> int:
    """Return the index of a value's bin, of len(edges) + 1; an edge belongs to the bin above."""
    return sum(value >= edge for edge in edges)


def bin_names(edges: tuple[float, ...]) -> list[str]:
    """Return the names of the bins between edges: `<40`, `40-60`, `>=60`."""
    between = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return [f"<{edges[0]:g}", *between, f">={edges[-1]:g}"]
