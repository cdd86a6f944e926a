"""The learning rate of a run: up, down in a cosine, and again where the run was extended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from orchestrator.errors import SettingsError


def cosine(step: int, steps: int, warm_up: int, peak: float, low: float = 0.01) -> float:
    """Learning rate at a step: a line up to the peak, then a cosine down to `low` of it."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    part = min(1.0, (step - warm_up) / max(1, steps - warm_up))
    return peak * (low + (1 - low) * (1 + math.cos(math.pi * part)) / 2)


def stretch_at(at: int, extended: Sequence[int], end: int) -> tuple[int, int]:
    """Return where the part of a run began and ends that a step or epoch lies in.

    Args:
        at: The step or epoch.
        extended: Where the run was extended.
        end: Of the whole run.
    """
    parts = list(pairwise((0, *extended, end)))
    return next((part for part in parts if at < part[1]), parts[-1])


def check_extended(extended: Sequence[int], end: int) -> None:
    """See that a run was extended at ever later places.

    Args:
        extended: Where it was.
        end: Of the whole run.

    Raises:
        SettingsError: They do not rise, or lie outside the run.
    """
    if any(before >= after for before, after in pairwise((0, *extended, end))):
        raise SettingsError(f"extended: wanted rising numbers from 1 to {end - 1}, got {extended}")
