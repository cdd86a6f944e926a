"""Ends coroutines that take too long, without losing a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

ENDING_S = 1.0
"""Longest wait for the end of a coroutine that was cancelled."""

Result = TypeVar("Result")


async def complete_within(coroutine: Coroutine[Any, Any, Result], seconds: float) -> Result:
    """Run a coroutine, and return its result. It is cancelled when its time is over.

    It stands in for `asyncio.wait_for`, which may lose a cancellation before Python 3.12, and waits
    for ever for a coroutine that does not end when it is cancelled.

    Raises:
        asyncio.TimeoutError: It took longer.
    """
    task = asyncio.ensure_future(coroutine)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
        raise asyncio.TimeoutError
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=ENDING_S)
        if task.done() and not task.cancelled():
            task.exception()  # seen: the caller was told that it took too long
