"""Checks of a caller's parameters, and their conversion to values for both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator.errors import ParameterError, SettingsError

MAX_DURATION_S = 86_400.0
"""Longest timeout, seconds. A socket allows at most 24 days."""
MAX_IN_FLIGHT = 64
"""Largest number of calls at once. Further calls would only wait in the server's queue."""

Plain = str | int | float | bool


def to_parameters(values: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the given values as request parameters, without those that are None.

    Raises:
        ParameterError: A value is neither a number nor printable text.
    """
    return {name: make_plain(name, value) for name, value in values.items() if value is not None}


def check_timeout(timeout_s: Any) -> float:
    """Return a timeout in seconds.

    Raises:
        SettingsError: The value is not a valid timeout.
    """
    if (
        not isinstance(timeout_s, (int, float, np.number))
        or isinstance(timeout_s, bool)
        or not 0 < timeout_s <= MAX_DURATION_S
    ):
        raise SettingsError(
            f"timeout_s: wanted seconds above 0 and up to {MAX_DURATION_S:g}, got {timeout_s!r}"
        )
    return float(timeout_s)


def check_in_flight(in_flight: Any) -> int:
    """Return the number of calls at once.

    Raises:
        ParameterError: The value is not a whole number from 1 to 64.
    """
    if not isinstance(in_flight, (int, np.integer)) or not 1 <= in_flight <= MAX_IN_FLIGHT:
        raise ParameterError(
            f"in_flight: wanted a whole number from 1 to {MAX_IN_FLIGHT}, got {in_flight!r}"
        )
    return int(in_flight)


def make_plain(name: str, value: Any) -> Plain:
    """Convert a value for both protocols. NumPy numbers become Python's; text must be printable.

    Raises:
        ParameterError: The value is neither a number of 64 bits nor printable text.
    """
    plain: Any = value.item() if isinstance(value, np.generic) else value
    is_text = isinstance(plain, str) and plain.isprintable()
    is_number = isinstance(plain, (int, float)) and name != "request_id"
    if not is_text and not is_number:
        kind = "printable text" if name == "request_id" else "a number"
        raise ParameterError(f"{name}: wanted {kind}, got {value!r}")
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise ParameterError(f"{name}: wanted a number of 64 bits, got {plain}")
    return plain  # type: ignore[no-any-return]


def write_roi(roi: Any) -> str:
    """Return a region as the text of the request parameter. The server checks a given text.

    Raises:
        ParameterError: The region is neither a text nor four numbers.
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
