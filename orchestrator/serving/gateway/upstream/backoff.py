"""Backoff before failed calls are retried, shared by all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchestrator.host.retry import exponential_s

FIRST_S, MAX_DURATION_S = 0.02, 0.2
"""Pauses of one call between its retries: the first one, and the limit of the growing ones."""


class SharedBackoff:
    """Spaces the retries of calls that fail at the same time.

    Each retry takes CPU time from the server that is starting. So many calls together are retried
    no more often than a single call, one after another. Once one of them is answered, all retry.

    Args:
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._last_retry = 0.0  # latest time at which a call may be retried
        self._releases = 0

    def release(self) -> None:
        """Let all waiting calls retry within `MAX_DURATION_S`."""
        self._releases += 1
        self._last_retry = self._clock()

    def pause_s(self, retry: int) -> float:
        """Return the pause between a retry of a call and the previous one."""
        return exponential_s(retry, FIRST_S, MAX_DURATION_S)

    async def wait(self, retry: int, until: float) -> None:
        """Wait until a call may be retried.

        Args:
            retry: Number of earlier retries of the call.
            until: Deadline on the clock. The wait ends then at the latest.
        """
        pause_s = self.pause_s(retry)
        releases = self._releases
        retry_at = self._last_retry = max(self._last_retry, self._clock()) + pause_s
        while releases == self._releases and (rest_s := min(retry_at, until) - self._clock()) > 0:
            await self._sleep(min(rest_s, pause_s))
