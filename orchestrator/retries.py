"""When a call is sent again: it met no server, or a full one. Calls change nothing there."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.errors import Overloaded, PlateError, ServerError, SettingsError

AnswerT = TypeVar("AnswerT")

WORTH_ANOTHER_TRY = (ServerError, Overloaded)
"""Another server, or the same one a moment later, may answer."""


def asks_nothing(error: PlateError) -> float:
    """Ask for no pause, whatever the error."""
    return 0.0


@dataclass(frozen=True)
class Retries:
    """How often and how soon a call is sent again.

    The pauses double up to a limit. Each is shortened at random, by half at most, so that callers
    who failed together do not come back together. None is shorter than what the server asks for.

    Attributes:
        times: Most times that one call is sent again; 0 for never.
        first_s: Longest first pause.
        longest_s: Longest pause, where the server asks for none.
        patience_s: Longest pause that a server may ask for: who asks for more is not asked again.
        asked_s: Reads from an error what pause the server asked for, in seconds; 0 for none.
        sleep: Waits so many seconds.

    Source: M. Brooker, "Exponential Backoff And Jitter", 2015.
    """

    times: int = 0
    first_s: float = 0.1
    longest_s: float = 2.0
    patience_s: float = 60.0
    asked_s: Callable[[PlateError], float] = asks_nothing
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
                pause_s = self.pause_after_s(error, retry)
                on_retry(error)
            self.sleep(pause_s)
        return send()

    async def call_async(
        self, send: Callable[[], Awaitable[AnswerT]], on_retry: Callable[[PlateError], None]
    ) -> AnswerT:
        """Do what `call` does while the event loop goes on."""
        for retry in range(self.times):
            try:
                return await send()
            except WORTH_ANOTHER_TRY as error:
                pause_s = self.pause_after_s(error, retry)
                on_retry(error)
            await asyncio.sleep(pause_s)
        return await send()

    def pause_after_s(self, error: PlateError, retry: int) -> float:
        """Return how long to wait after an error.

        Args:
            error: Why there was no answer; raised again where the server asks for more patience
                than there is.
            retry: How many there were before.
        """
        asked_s = self.asked_s(error)
        if asked_s > self.patience_s:
            raise error
        # Who was asked to wait for the same second must not come back in the same moment either.
        return max(self.pause_s(retry), asked_s * random.uniform(1, 1.5))

    def pause_s(self, retry: int) -> float:
        """Return how long to wait before the first retry, 0, or a later one."""
        return min(self.longest_s, self.first_s * 2.0**retry) * random.uniform(0.5, 1)
