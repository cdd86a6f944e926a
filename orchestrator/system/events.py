"""Waits for an event without losing a cancellation."""

from __future__ import annotations

import asyncio


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, and return whether it is set.

    It stands in for `asyncio.wait_for`, which may lose a cancellation before Python 3.12: one that
    comes in the same turn of the event loop as the event. The task would then go on for ever.

    Args:
        event: The event.
        seconds: The longest time to wait.
    """
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
    return event.is_set()
