"""What a caller gives beside pictures, checked and made such that both protocols can carry it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator.errors import ParameterError, SettingsError

LONGEST_S = 86_400.0
"""Longest timeout; a socket takes no more than 24 days."""
MOST_IN_FLIGHT = 64
"""More wait in the server's queue, not in work."""

Plain = str | int | float | bool


def to_parameters(given: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the request parameters of those that are not None.

    Raises:
        ParameterError: One is neither a number nor printable text.
    """
    return {name: make_plain(name, value) for name, value in given.items() if value is not None}


def check_timeout(timeout_s: Any) -> float:
    """Return a timeout in seconds.

    Raises:
        SettingsError: It is none.
    """
    if (
        not isinstance(timeout_s, (int, float, np.number))
        or isinstance(timeout_s, bool)
        or not 0 < timeout_s <= LONGEST_S
    ):
        raise SettingsError(
            f"timeout_s: wanted seconds above 0 and up to {LONGEST_S:g}, got {timeout_s!r}"
        )
    return float(timeout_s)


def check_in_flight(in_flight: Any) -> int:
    """Return how many calls to make at once.

    Raises:
        ParameterError: It is no whole number from 1 to 64.
    """
    if not isinstance(in_flight, (int, np.integer)) or not 1 <= in_flight <= MOST_IN_FLIGHT:
        raise ParameterError(
            f"in_flight: wanted a whole number from 1 to {MOST_IN_FLIGHT}, got {in_flight!r}"
        )
    return int(in_flight)


def make_plain(name: str, value: Any) -> Plain:
    """Return what both protocols can carry: NumPy's numbers as Python's, and text in UTF-8.

    Raises:
        ParameterError: It is neither.
    """
    plain: Any = value.item() if isinstance(value, np.generic) else value
    is_text = isinstance(plain, str) and plain.isprintable()
    is_number = isinstance(plain, (int, float)) and name != "request_id"
    if not is_text and not is_number:
        wanted = "printable text" if name == "request_id" else "a number"
        raise ParameterError(f"{name}: wanted {wanted}, got {value!r}")
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise ParameterError(f"{name}: wanted a number of 64 bits, got {plain}")
    return plain  # type: ignore[no-any-return]


def write_roi(roi: Any) -> str:
    """Write a region as the request parameter; a text is left to the server to judge.

    Raises:
        ParameterError: It is neither a text nor four numbers.
    """
    if isinstance(roi, str):
        return roi
    try:
        x0, y0, x1, y1 = (format(float(side), ".10g") for side in roi)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f'roi: wanted four numbers or "x0,y0,x1,y1" in pixels, got {roi!r}'
        ) from error
    return f"{x0},{y0},{x1},{y1}"
