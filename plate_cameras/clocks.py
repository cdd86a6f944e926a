"""The clocks of the cameras, and waits for events and tasks that lose no cancellation.

No other module of the cameras asks the system for the time. Durations, waits and hold-offs are
differences of `steady_s`, which nobody can set. The Unix time is only stored and shown: somebody
may set it forwards or backwards at any moment.

Source: clock_gettime(2), CLOCK_BOOTTIME.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable
from datetime import datetime
from typing import Any, TypeVar


def steady_s() -> float:
    """Return seconds of a clock that nobody sets. It runs on while the machine sleeps.

    Its zero is the start of the machine, so its values mean nothing to another machine.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def unix_s() -> float:
    """Return the Unix time, to store and to show. A difference of two is no duration."""
    return time.time()


def local_now() -> datetime:
    """Return the local date and time, for schedules of the week."""
    return datetime.fromtimestamp(unix_s())


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, and return whether it is set.

    It replaces `asyncio.wait_for`, which before Python 3.12 may lose a cancellation that comes in
    the same turn of the event loop as the event. The task would then go on for ever.

    Args:
        event: The event.
        seconds: The longest time to wait.
    """
    wait = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({wait}, timeout=seconds)
    finally:
        wait.cancel()
    return event.is_set()


async def wait_through(
    futures: Iterable[asyncio.Future[Any]], seconds: float
) -> asyncio.CancelledError | None:
    """Wait until all are done, or for a time. A cancellation does not end the wait.

    Args:
        futures: Tasks or futures. They are not cancelled.
        seconds: The longest time to wait.

    Returns:
        A cancellation that came meanwhile. The caller raises it when its work is finished.
    """
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + seconds
    cancellation = None
    all_futures = [*futures]
    while pending := {future for future in all_futures if not future.done()}:
        if (left_s := deadline_s - loop.time()) <= 0:
            break
        try:
            await asyncio.wait(pending, timeout=left_s)
        except asyncio.CancelledError as error:
            cancellation = error
    return cancellation


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
            task.exception()  # retrieved, so that asyncio logs none: the caller gets a timeout
