"""Exponential backoff: the pauses between retries grow."""

from __future__ import annotations

MAX_DOUBLINGS = 64
"""The pause reaches any limit earlier. A larger power of two would not fit a float."""


def exponential_s(retry: int, first_s: float, longest_s: float) -> float:
    """Return the pause before a retry. Each pause is twice the previous one, up to a limit.

    Args:
        retry: Number of earlier retries.
        first_s: Pause before the first retry, seconds.
        longest_s: Longest pause.
    """
    return min(longest_s, first_s * 2.0 ** min(retry, MAX_DOUBLINGS))
