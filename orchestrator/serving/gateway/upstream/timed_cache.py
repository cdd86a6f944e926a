"""A cache of answers for a limited time, so that many callers cause one request to Triton."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any


class TimedCache:
    """A cache of the latest answers. Callers that wait for the same answer share one request.

    Args:
        max_answers: Answers that are kept. The oldest is dropped.
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, max_answers: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_answers, self._clock = max_answers, clock
        self._entries: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._loading: dict[Hashable, asyncio.Task[Any]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    async def get(
        self, key: Hashable, load: Callable[[], Coroutine[Any, Any, Any]], ttl_s: float
    ) -> Any:
        """Return the cached answer of a key, or load it if it is missing or older than `ttl_s`.

        A failure reaches every caller that waits for it, and is not kept. A caller that is
        cancelled does not end the request of the others.
        """
        loaded_at, answer = self._entries.get(key, (float("-inf"), None))
        if self._clock() - loaded_at <= ttl_s:
            return answer
        if key not in self._loading:
            self._loading[key] = asyncio.create_task(self._load(key, load))
            self._loading[key].add_done_callback(_see_end)
        return await asyncio.shield(self._loading[key])

    async def _load(self, key: Hashable, load: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        try:
            answer = await load()
        finally:
            del self._loading[key]
        self._entries[key] = (self._clock(), answer)
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_answers:
            self._entries.popitem(last=False)
        return answer


def _see_end(task: asyncio.Task[Any]) -> None:
    """Look at a failure that no caller waits for any more: the next caller asks again."""
    if not task.cancelled():
        task.exception()
