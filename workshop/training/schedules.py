"""The learning rate of a run: a warm-up, then a cosine; each extension of the run repeats both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import typer

from orchestrator.errors import SettingsError

MAX_COUNT = 1_000_000_000
Share = Annotated[float, typer.Option(min=0, max=1)]
Rate = Annotated[float, typer.Option(min=1e-9, max=1)]
Count = Annotated[int, typer.Option(min=1, max=MAX_COUNT)]
CountOrNone = Annotated[int, typer.Option(min=0, max=MAX_COUNT)]
Batch = Annotated[int, typer.Option(min=1, max=65536)]
Minutes = Annotated[float | None, typer.Option(min=0.001, max=100_000)]
Seed = Annotated[int, typer.Option(min=0, max=2**31)]
"""Types of the settings of a recipe, with their ranges; `check_ranges` checks them."""


def cosine(step: int, steps: int, warm_up: int, peak: float, low: float = 0.01) -> float:
    """Return the rate at a step: a linear rise to the peak, then a cosine down to `low * peak`."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    part = (step - warm_up) / max(1, steps - warm_up)
    return peak * fall(part, low)


def fall(part: float, low: float = 0.01) -> float:
    """Return the cosine from 1 to `low` when a share of its length is done."""
    return low + (1 - low) * (1 + math.cos(math.pi * min(1.0, part))) / 2


def anneal(part: float, step: int, warm_up: int, peak: float) -> float:
    """Return the rate when a share of a run is done: a rise by steps, a cosine by that share."""
    return min(1.0, (step + 1) / max(1, warm_up)) * peak * fall(part)


def stretch_at(position: int, extended: Sequence[int], end: int) -> tuple[int, int]:
    """Return the beginning and the end of the part of a run that contains a step or epoch.

    Args:
        position: The step or epoch.
        extended: Steps or epochs at which the run was extended.
        end: End of the whole run.
    """
    parts = list(pairwise((0, *extended, end)))
    return next((part for part in parts if position < part[1]), parts[-1])


def check_extended(extended: Sequence[int], end: int) -> None:
    """Check that the extensions of a run are in rising order and inside the run.

    Args:
        extended: Steps or epochs at which the run was extended.
        end: End of the whole run.

    Raises:
        SettingsError: The numbers do not rise, or lie outside the run.
    """
    if any(before >= after for before, after in pairwise((0, *extended, end))):
        raise SettingsError(f"extended: wanted rising numbers from 1 to {end - 1}, got {extended}")
