"""The time of an arrival, by both clocks.

The two clocks bear the names that the standard library gives them, so that what plays a stream can
be given any time by replacing them here.
"""

from __future__ import annotations

from plate_cameras import clocks


def time() -> float:
    """Return the Unix time."""
    return clocks.unix_s()


def monotonic() -> float:
    """Return the time of a clock that nobody sets, see `clocks.steady_s`."""
    return clocks.steady_s()


def now() -> tuple[float, float]:
    """Return the Unix time and the steady time."""
    return time(), monotonic()
