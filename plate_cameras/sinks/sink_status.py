"""The state of one sink, for metrics, people and the log."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from plate_cameras.clocks import steady_s

COUNTS = frozenset({"delivered", "failed_attempts", "abandoned"})


@dataclass(frozen=True)
class SinkStatus:
    """The state of one sink.

    Attributes:
        delivered: Events that the receiver has accepted.
        waiting: Events that the receiver has not accepted yet, at the last look.
        last_error: Reason of the last failure, empty after a success.
        failure: The same without details, for a label of metrics.
        is_disabled: True if the receiver wants no more events.
    """

    name: str
    delivered: int = 0
    failed_attempts: int = 0
    abandoned: int = 0
    waiting: int = 0
    last_error: str = ""
    failure: str = ""
    is_disabled: bool = False

    def update(self, **changes: Any) -> SinkStatus:
        """Return the status after some changes: counts are added, other values replaced."""
        sums = {name: getattr(self, name) + changes[name] for name in COUNTS & {*changes}}
        return replace(self, **(changes | sums))


LOG = logging.getLogger(__name__)
MAX_LINES, WITHIN_S = 10, 600.0
"""Largest number of lines within a time. Repeated failures and recoveries do not fill the log."""


class FailureLog:
    """Tells when something begins to fail, when the reason changes, and when it works again.

    Args:
        failure_line: Begin of the line about a failure. The reason follows.
        recovery_line: The line when it works again.
    """

    def __init__(
        self, failure_line: str, recovery_line: str, steady: Callable[[], float] = steady_s
    ) -> None:
        self._failure_line, self._recovery_line, self._steady = failure_line, recovery_line, steady
        self._last_reason = ""
        self._lines_s: deque[float] = deque(maxlen=MAX_LINES)

    def note(self, reason: str) -> None:
        """Note how the last attempt went: the reason of its failure, or an empty text."""
        if reason == self._last_reason or not self._may_tell():
            return
        self._last_reason = reason
        if reason:
            LOG.error("%s: %s", self._failure_line, reason)
        else:
            LOG.warning("%s", self._recovery_line)

    def _may_tell(self) -> bool:
        now_s = self._steady()
        if len(self._lines_s) == MAX_LINES and now_s - self._lines_s[0] < WITHIN_S:
            return False
        self._lines_s.append(now_s)
        return True
