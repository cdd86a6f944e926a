"""A cache of answers for a limited time, so that many callers cause one request to Triton."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class TimedCache:
    """A cache of the latest answers, each with its own lifetime.

    Args:
        most: Most answers in the cache. The oldest is dropped.
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._kept: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: Hashable, load: Callable[[], Awaitable[Any]], ttl_s: float) -> Any:
        """Return the cached answer of a key, or load it if it is missing or older than `ttl_s`."""
        loaded_at, answer = self._kept.get(key, (float("-inf"), None))
        if self._clock() - loaded_at > ttl_s:
            answer = await load()
            self._kept[key] = (self._clock(), answer)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return answer
