"""When a call is sent again: it met no server, or a full one. Calls change nothing there."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.errors import Overloaded, PlateError, ServerError, SettingsError

AnswerT = TypeVar("AnswerT")

WORTH_ANOTHER_TRY = (ServerError, Overloaded)
"""Another server, or the same one a moment later, may answer."""


@dataclass(frozen=True)
class Retries:
    """How often and how soon a call is sent again.

    The pauses double up to a limit. Each is shortened at random, by half at most, so that callers
    who failed together do not come back together.

    Attributes:
        times: Most times that one call is sent again; 0 for never.
        first_s: Longest first pause.
        longest_s: Longest pause.
        sleep: Waits so many seconds.

    Source: M. Brooker, "Exponential Backoff And Jitter", 2015.
    """

    times: int = 0
    first_s: float = 0.1
    longest_s: float = 2.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not isinstance(self.times, int) or isinstance(self.times, bool) or self.times < 0:
            raise SettingsError(f"retries: wanted a whole number from 0, got {self.times!r}")

    def call(self, send: Callable[[], AnswerT], on_retry: Callable[[PlateError], None]) -> AnswerT:
        """Send until there is an answer, an error that another try does not mend, or none is left.

        Args:
            send: Sends the call once.
            on_retry: Told, before each pause, why the call is sent again.
        """
        for retry in range(self.times):
            try:
                return send()
            except WORTH_ANOTHER_TRY as error:
                on_retry(error)
            self.sleep(self.pause_s(retry))
        return send()

    def pause_s(self, retry: int) -> float:
        """Return how long to wait before the first retry, 0, or a later one."""
        return min(self.longest_s, self.first_s * 2.0**retry) * random.uniform(0.5, 1)
