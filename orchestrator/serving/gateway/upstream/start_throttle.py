"""Limits simultaneous calls while workers of Triton start, so that they start sooner."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

MAX_DURATION_S = 30.0
"""Longest start of a worker. After this time it has failed, or its end was not reported."""
WAIT_S = 1.0
"""Longest wait for a slot. The call that has the slot may be at a worker that hangs."""


class StartThrottle:
    """Throttles calls while workers start.

    If other workers answer meanwhile, Triton gets as many calls as it has pictures in work. So no
    call waits there. If no worker answers, callers only wait for the start. Triton then gets half
    as many calls.

    The queue before Triton cannot do this: a call keeps its slot there while it is retried.

    Args:
        calls: Calls that Triton otherwise gets at once: four times its pictures in work.
        clock: Returns the time in seconds.

    Attributes:
        starting: Models whose workers start, with the deadline of each. If there are none, no call
            needs a slot.
    """

    def __init__(self, calls: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._few = asyncio.Semaphore(max(1, calls // 4))
        self._fewest = asyncio.Semaphore(max(1, calls // 8))
        self.starting: dict[str, float] = {}
        self._missing: set[str] = set()  # models without a worker that answers

    def begin(self, model: str, *, is_last: bool) -> None:
        """Note that a model gets new workers.

        Args:
            model: Its name.
            is_last: The model has no worker that answers until then.
        """
        self.starting[model] = self._clock() + MAX_DURATION_S
        if is_last:
            self._missing.add(model)

    def end(self, model: str) -> None:
        """Note that the model has its new workers."""
        self.starting.pop(model, None)
        self._missing.discard(model)

    def end_all(self) -> None:
        """Note that another Triton has taken over."""
        for model in [*self.starting]:
            self.end(model)

    async def acquire(self) -> asyncio.Semaphore | None:
        """Wait for a slot while any worker starts.

        Returns:
            The slots of which the caller has one, which it must release; None if it needs none.
        """
        slots = self._slots()
        if slots is None:
            return None
        try:
            await asyncio.wait_for(slots.acquire(), WAIT_S)
        except asyncio.TimeoutError:
            return None
        return slots

    def _slots(self) -> asyncio.Semaphore | None:
        for model, until in [*self.starting.items()]:
            if self._clock() > until:
                self.end(model)
        if self._missing:
            return self._fewest
        return self._few if self.starting else None
