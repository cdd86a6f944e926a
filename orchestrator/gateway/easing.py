"""Fewer calls at once while workers of Triton start, which need the cores to be there soon."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

LONGEST_S = 30.0
"""A start that takes longer has failed, or nobody has told of its end."""
WAIT_S = 1.0
"""For a turn: who has it may be with a worker that hangs."""


class Easing:
    """Holds calls back while workers start.

    Where others answer meanwhile, as many calls go to Triton as it has pictures in work, and none
    waits there. Where nobody does, callers wait for the start alone: half as many go.

    Args:
        calls: Handed to Triton at once otherwise: four times the pictures that it has in work.
        clock: Seconds.
    """

    def __init__(self, calls: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._few = asyncio.Semaphore(max(1, calls // 4))
        self._fewest = asyncio.Semaphore(max(1, calls // 8))
        self._starting: dict[str, float] = {}  # models, and until when they are waited for
        self._missing: set[str] = set()  # those for which nobody answers

    def begin(self, model: str, *, is_last: bool) -> None:
        """Note that a model gets new workers.

        Args:
            model: Its name.
            is_last: It has none that answers until then.
        """
        self._starting[model] = self._clock() + LONGEST_S
        if is_last:
            self._missing.add(model)

    def end(self, model: str) -> None:
        """Note that it has them."""
        self._starting.pop(model, None)
        self._missing.discard(model)

    def end_all(self) -> None:
        """Note that another Triton has taken over."""
        for model in [*self._starting]:
            self.end(model)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn while anything starts."""
        turns = self._turns()
        has_turn = turns and await _wait(turns)
        try:
            yield
        finally:
            if turns and has_turn:
                turns.release()

    def _turns(self) -> asyncio.Semaphore | None:
        for model, until in [*self._starting.items()]:
            if self._clock() > until:
                self.end(model)
        if self._missing:
            return self._fewest
        return self._few if self._starting else None


async def _wait(turns: asyncio.Semaphore) -> bool:
    try:
        await asyncio.wait_for(turns.acquire(), WAIT_S)
    except asyncio.TimeoutError:
        return False
    return True
