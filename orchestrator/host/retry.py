"""Retries of calls, and the pauses between them: exponential backoff."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.errors import Overloaded, PlateError, ServerError, SettingsError
from orchestrator.host.blocking import run_blocking, settle

AnswerT = TypeVar("AnswerT")

WORTH_ANOTHER_TRY = (ServerError, Overloaded)
"""Errors after which another server, or the same one a moment later, may answer."""
MIN_LARGE_BYTES = 1 << 20
"""A proxy may break the connection at a larger picture, without an answer. Many take 1 MiB."""
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


class Backoff:
    """Says when something that failed may be retried; it does not wait itself.

    Args:
        first_s: First pause; each further pause is twice as long.
        longest_s: Longest pause. A failure that comes more than twice this time after the last one
            starts again with the first pause.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, first_s: float, longest_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first_s, self._longest_s, self._clock = first_s, longest_s, clock
        self._last_failure_s, self._retry = float("-inf"), 0

    def is_over(self) -> bool:
        """Tell whether the pause is over, or nothing has failed."""
        return self._clock() - self._last_failure_s >= self._pause_s()

    def fail(self) -> float:
        """Start a pause; return its length in seconds."""
        now = self._clock()
        is_first = now - self._last_failure_s > 2 * self._longest_s
        self._retry = 0 if is_first else self._retry + 1
        self._last_failure_s = now
        return self._pause_s()

    def _pause_s(self) -> float:
        return exponential_s(self._retry, self._first_s, self._longest_s)


def may_be_too_large(error: PlateError, picture_bytes: int) -> bool:
    """Tell whether a connection was lost at a picture that may be too large for a proxy.

    If the server is ready then, it answers smaller requests, and the picture is at fault.
    """
    statuses = {error.response.status, error.response.grpc_code}
    is_lost = isinstance(error, ServerError) and not isinstance(error.__cause__, TimeoutError)
    return is_lost and statuses <= {None, "UNAVAILABLE"} and picture_bytes > MIN_LARGE_BYTES


@dataclass(frozen=True)
class Retries:
    """The number of retries of a call, and their pauses.

    The pauses double up to a limit. Each is shortened at random, by half at most, so that clients
    that failed together do not retry together. No pause is shorter than the server asks for.

    Attributes:
        times: Most retries of one call; 0 for none.
        first_s: Longest first pause.
        longest_s: Longest pause, unless the server asks for more.
        patience_s: Longest pause that a server may ask for; if it asks for more, the call is not
            retried.
        sleep: Function that waits for a number of seconds. It may be a coroutine function.

    Source: M. Brooker, "Exponential Backoff And Jitter", 2015.
    """

    times: int = 0
    first_s: float = 0.1
    longest_s: float = 2.0
    patience_s: float = 60.0
    sleep: Callable[[float], Any] = time.sleep

    def __post_init__(self) -> None:
        if not isinstance(self.times, int) or isinstance(self.times, bool) or self.times < 0:
            raise SettingsError(f"retries: wanted a whole number from 0, got {self.times!r}")

    def call(self, send: Callable[[], AnswerT], on_retry: Callable[[PlateError], None]) -> AnswerT:
        """Send until there is an answer, an error that a retry cannot help, or no retry left.

        Args:
            send: Sends the call once.
            on_retry: Called before each pause with the error that causes the retry.
        """
        return run_blocking(self.call_async(send, on_retry))

    async def call_async(
        self,
        send: Callable[[], Awaitable[AnswerT] | AnswerT],
        on_retry: Callable[[PlateError], None],
    ) -> AnswerT:
        """Do the same as `call`. `send` and `sleep` may be coroutine functions."""
        for retry in range(self.times):
            try:
                return await settle(send())
            except WORTH_ANOTHER_TRY as error:
                pause_s = self.pause_after_s(error, retry)
                on_retry(error)
            await settle(self.sleep(pause_s))
        return await settle(send())

    def pause_after_s(self, error: PlateError, retry: int) -> float:
        """Return the pause after an error, in seconds.

        Args:
            error: The error of the call; raised again if the server asks for a longer pause than
                allowed.
            retry: Number of earlier retries.
        """
        retry_after_s = error.response.retry_after_s or 0.0
        if retry_after_s > self.patience_s:
            raise error
        # Clients that got the same pause from the server must not all retry at one moment.
        return max(self.pause_s(retry), retry_after_s * random.uniform(1, 1.5))

    def pause_s(self, retry: int) -> float:
        """Return the pause before the first retry, 0, or a later one."""
        return exponential_s(retry, self.first_s, self.longest_s) * random.uniform(0.5, 1)
