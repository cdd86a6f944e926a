"""Tells the log when something begins to fail and when it works again."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from plate_cameras.clocks import steady_s

LOG = logging.getLogger(__name__)
MAX_LINES, WITHIN_S = 10, 600.0
"""Most lines within a time. What fails and works by turns does not fill the log."""


class FailureLog:
    """Tells when something begins to fail, when the reason changes, and when it works again.

    Args:
        failing: Begin of the line about a failure. The reason follows.
        well: The line when it works again.
        steady: A clock that nobody sets.
    """

    def __init__(self, failing: str, well: str, steady: Callable[[], float] = steady_s) -> None:
        self._failing, self._well, self._steady = failing, well, steady
        self._told = ""
        self._lines_s: deque[float] = deque(maxlen=MAX_LINES)

    def note(self, reason: str) -> None:
        """Note how the last attempt went: the reason of its failure, or an empty text."""
        if reason == self._told or not self._may_tell():
            return
        self._told = reason
        if reason:
            LOG.error("%s: %s", self._failing, reason)
        else:
            LOG.warning("%s", self._well)

    def _may_tell(self) -> bool:
        now_s = self._steady()
        if len(self._lines_s) == MAX_LINES and now_s - self._lines_s[0] < WITHIN_S:
            return False
        self._lines_s.append(now_s)
        return True
