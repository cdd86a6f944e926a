"""Retries of calls that met no server or a full one. A retry is safe: calls change nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.errors import Overloaded, PlateError, ServerError, SettingsError
from orchestrator.system.backoff import exponential_s

AnswerT = TypeVar("AnswerT")

WORTH_ANOTHER_TRY = (ServerError, Overloaded)
"""Errors after which another server, or the same one a moment later, may answer."""


def asks_nothing(error: PlateError) -> float:
    """Return no pause for any error."""
    return 0.0


@dataclass(frozen=True)
class Retries:
    """How often and how soon a call is retried.

    The pauses double up to a limit. Each is shortened at random, by half at most, so that clients
    that failed together do not retry together. No pause is shorter than the server asks for.

    Attributes:
        times: Most retries of one call; 0 for none.
        first_s: Longest first pause.
        longest_s: Longest pause, unless the server asks for more.
        patience_s: Longest pause that a server may ask for; if it asks for more, the call is not
            retried.
        asked_s: Returns the pause that the server asked for in an error, in seconds; 0 for none.
        sleep: Waits for a number of seconds.

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
        """Send until there is an answer, an error that a retry cannot help, or no retry left.

        Args:
            send: Sends the call once.
            on_retry: Called before each pause with the error that causes the retry.
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
        """Do the same as `call`, but asynchronously."""
        for retry in range(self.times):
            try:
                return await send()
            except WORTH_ANOTHER_TRY as error:
                pause_s = self.pause_after_s(error, retry)
                on_retry(error)
            await asyncio.sleep(pause_s)
        return await send()

    def pause_after_s(self, error: PlateError, retry: int) -> float:
        """Return the pause after an error, in seconds.

        Args:
            error: The error of the call; raised again if the server asks for a longer pause than
                allowed.
            retry: Number of earlier retries.
        """
        asked_s = self.asked_s(error)
        if asked_s > self.patience_s:
            raise error
        # Clients that were asked to wait for the same second must not all retry at that moment.
        return max(self.pause_s(retry), asked_s * random.uniform(1, 1.5))

    def pause_s(self, retry: int) -> float:
        """Return the pause before the first retry, 0, or a later one."""
        return exponential_s(retry, self.first_s, self.longest_s) * random.uniform(0.5, 1)
