"""Calls of the outbox, which block, from coroutines that may be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from orchestrator.errors import PlateError
from orchestrator.system.daemon_threads import DaemonThreads
from orchestrator.system.events import wait_through

LIMIT_S = 10.0
"""Longest wait for one call. A database that is away says so earlier."""
ResultT = TypeVar("ResultT")


class OutboxTimeout(PlateError):  # noqa: N818 - a state of the outbox
    """The outbox does not answer. What the call did is not known."""


class OutboxThread:
    """Runs calls of the outbox one after the other, in a thread of their own.

    A call that has begun ends: a cancellation of the caller is raised after it. So nobody is
    cancelled between a change of the outbox and what follows from it.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._threads = DaemonThreads(1, name)

    async def run(self, call: Callable[[], ResultT]) -> ResultT:
        """Run a call and return its result.

        Raises:
            OutboxTimeout: It, or an earlier one, has not ended within the limit.
        """
        running = asyncio.wrap_future(self._threads.submit(call))
        cancellation = await wait_through([running], LIMIT_S)
        error = running.exception() if running.done() else _give_up(running)
        if cancellation:
            raise cancellation
        if error:
            raise error
        return running.result()


def _give_up(running: asyncio.Future[ResultT]) -> OutboxTimeout:
    running.cancel()  # a call that waits for its turn does not begin any more
    return OutboxTimeout(f"no answer of the database within {LIMIT_S:g} s")
