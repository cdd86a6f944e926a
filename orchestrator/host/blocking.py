"""Runs coroutines without an event loop. So one core serves threads and asyncio."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


async def settle(value: Awaitable[ResultT] | ResultT) -> ResultT:
    """Return a result. If it is awaitable, await it first."""
    return await value if inspect.isawaitable(value) else value


def run_blocking(coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine in this thread, without an event loop.

    Args:
        coroutine: Its functions block this thread while they wait, so it never suspends.

    Raises:
        TypeError: The coroutine suspends, because it awaits a function of asyncio.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    coroutine.close()
    raise TypeError("wanted functions that block, got one of asyncio: use an AsyncPlateClient")
