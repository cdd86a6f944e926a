"""Pauses before calls that failed are tried again, all of them together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

FIRST_S, LONGEST_S = 0.02, 0.2


class Pauses:
    """Spaces the tries of calls that fail at the same time.

    What they wait for starts on the cores that each try takes. So many calls together are tried no
    oftener than one alone, each in its turn, until one of them is answered: then all go.

    Args:
        clock: Seconds.
        sleep: Waits so many of them.
    """

    def __init__(
        self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._last_turn = 0.0  # on the clock, of those that were given
        self._releases = 0

    def release(self) -> None:
        """Let all that wait try within `LONGEST_S`."""
        self._releases += 1
        self._last_turn = self._clock()

    async def wait(self, pause_s: float, until: float) -> None:
        """Wait for a call's turn.

        Args:
            pause_s: Between this try and the one before.
            until: On the clock; a turn that comes later is not waited for.
        """
        releases = self._releases
        turn = self._last_turn = max(self._last_turn, self._clock()) + pause_s
        while releases == self._releases and (rest_s := min(turn, until) - self._clock()) > 0:
            await self._sleep(min(rest_s, pause_s))


def growing_s() -> Iterator[float]:
    """Yield pauses for ever, each twice the one before, up to the longest."""
    pause_s = FIRST_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, LONGEST_S)
