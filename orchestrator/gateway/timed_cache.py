"""Answers that stay good for a while, so that many callers cost Triton one question."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class TimedCache:
    """Keeps the latest answers, each for a time of its own.

    Args:
        most: Answers that are kept; the oldest is dropped.
        clock: Seconds, monotonic.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._kept: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[Any]], ttl_s: float) -> Any:
        """Return the answer kept under a key, or ask for it where it is older than `ttl_s`."""
        asked, answer = self._kept.get(key, (float("-inf"), None))
        if self._clock() - asked > ttl_s:
            answer = await ask()
            self._kept[key] = (self._clock(), answer)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return answer
