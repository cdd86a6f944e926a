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


def bin_of(value: float, edges: tuple[float, ...]) -> int:
    """Return the index of a value's bin, of len(edges) + 1; an edge belongs to the bin above."""
    return sum(value >= edge for edge in edges)


def bin_names(edges: tuple[float, ...]) -> list[str]:
    """Return the names of the bins between edges: `<40`, `40-60`, `>=60`."""
    between = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return [f"<{edges[0]:g}", *between, f">={edges[-1]:g}"]
