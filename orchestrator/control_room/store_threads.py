"""Threads for the store's calls, which block: the event loop of recognition never waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.gateway.errors import RETRY_AFTER_S, ServiceFull

THREADS = 4
"""Calls of the store at once."""
MOST_WAITING = 32
"""Calls that wait for a thread. They hold slots of the gateway, which recognition needs, too."""

ResultT = TypeVar("ResultT")


class StoreThreads:
    """Runs blocking calls of a store, a few at once.

    Args:
        store: The store.
    """

    def __init__(self, store: PassStore) -> None:
        self._store = store
        self._threads = anyio.CapacityLimiter(THREADS)

    async def run(self, call: Callable[[], ResultT]) -> ResultT:
        """Return what a call returns.

        Raises:
            ServiceFull: Too many calls wait already.
            StoreError: The store cannot be used.
        """
        if self._threads.statistics().tasks_waiting >= MOST_WAITING:
            raise ServiceFull("too many requests wait for the database", RETRY_AFTER_S)

        def run_prepared() -> ResultT:
            self._store.writer.prepare()  # the tables, if the database was away at the start
            return call()

        return await anyio.to_thread.run_sync(run_prepared, limiter=self._threads)
