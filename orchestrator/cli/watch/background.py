"""Background of a watch: tasks, the store's upkeep and the signals that stop it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from orchestrator.cameras.configuration import Configuration
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.errors import PlateError

RETENTION_EVERY_S, REPLAY_EVERY_S = 3600.0, 5.0
STOPS = (signal.SIGINT, signal.SIGTERM)


async def delete_old(store: PassStore) -> None:
    """Delete passes whose time is over, now and then."""
    while True:
        with suppress(PlateError):  # the database is away; the next round deletes more
            await asyncio.to_thread(store.delete_expired, time.time())
        await asyncio.sleep(RETENTION_EVERY_S)


async def replay_spool(store: PassStore) -> None:
    """Write to the database what waits in the spool, also while no passes come."""
    while True:
        await asyncio.sleep(REPLAY_EVERY_S)
        with suppress(PlateError):
            await asyncio.to_thread(store.replay_spool)


async def close_interrupted(store: PassStore, configuration: Configuration) -> None:
    """Close the passes that were open when the last watch was killed, once the spool is empty."""
    names, started_s = [one.name for one in configuration.cameras], time.time()

    def close_some() -> bool:
        """Return whether there may be more."""
        if store.replay_spool():
            return True
        events = store.unclosed.interrupted(names, started_s)
        store.write(events, configuration.sinks)
        return bool(events)

    while True:
        with suppress(PlateError):  # the database is away; the next round goes on
            if not await asyncio.to_thread(close_some):
                return
        await asyncio.sleep(REPLAY_EVERY_S)


@asynccontextmanager
async def running(coroutine: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine beside a `with` block."""
    task = asyncio.create_task(coroutine)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@contextmanager
def on_stop(stop: Callable[[], None]) -> Iterator[None]:
    """Call a function when this process is asked to stop, inside a `with` block."""
    loop = asyncio.get_running_loop()
    for number in STOPS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in STOPS:
            loop.remove_signal_handler(number)
