"""The world outside: a webhook and people, in one process of their own."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from workshop.benchmarks.fleet.people import Key, People
from workshop.benchmarks.fleet.webhook import Received, receiving

MAX_DRAIN_S = 60.0


@dataclass(frozen=True)
class Arrivals:
    """Events and answers that came to the outside.

    Attributes:
        webhook_s: Unix time by the event's id.
        people_s: Unix time by the event's pass and kind, for each person.
        calls_ms: Times of calls of the REST API by their kind.
        refused: Number of refused calls by their kind.
        reconnected: Number of streams that ended too early.
        cpu_s: CPU time of this process.
    """

    webhook_s: dict[str, float]
    people_s: list[dict[Key, float]]
    calls_ms: dict[str, list[float]]
    refused: dict[str, int]
    reconnected: int
    cpu_s: float


class Outside:
    """The process, as its parent sees it.

    Args:
        link: The connection to it.

    Attributes:
        webhook: Address of the webhook.
    """

    def __init__(self, link: Connection) -> None:
        self._link = link
        self.webhook = ""

    async def start(self) -> None:
        """Wait until it listens."""
        self.webhook = await asyncio.to_thread(self._link.recv)

    async def finish(self, posted: int, shown: int) -> Arrivals:
        """Wait until so many events have come to the webhook and to each person, or for a minute.

        Returns:
            The events and answers that have come.
        """
        self._link.send((posted, shown))
        arrivals: Arrivals = await asyncio.to_thread(self._link.recv)
        return arrivals


@asynccontextmanager
async def run_outside(room: str, people: int) -> AsyncIterator[Outside]:
    """Run the process until the end of the block."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, room, people), daemon=True)
    process.start()
    try:
        outside = Outside(here)
        await outside.start()
        yield outside
    finally:
        process.terminate()
        process.join()


def _serve(link: Connection, room: str, count: int) -> None:
    asyncio.run(_run(link, People(room, count)))


async def _run(link: Connection, people: People) -> None:
    async with receiving() as received:
        running = asyncio.create_task(people.run())
        listening = asyncio.create_task(people.wait_until_listening())
        await asyncio.wait((running, listening), return_when=asyncio.FIRST_COMPLETED)
        before_s = time.process_time()
        link.send(received.url)
        posted, shown = await asyncio.to_thread(link.recv)
        await _wait_for(received, posted, people, shown)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        link.send(
            Arrivals(
                received.at_s,
                people.came_s,
                dict(people.calls_ms),
                dict(people.refused),
                people.reconnected,
                time.process_time() - before_s,
            )
        )


async def _wait_for(received: Received, posted: int, people: People, shown: int) -> None:
    deadline = time.monotonic() + MAX_DRAIN_S
    while time.monotonic() < deadline:
        if len(received.at_s) >= posted and all(len(one) >= shown for one in people.came_s):
            return
        await asyncio.sleep(0.1)
