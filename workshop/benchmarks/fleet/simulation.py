"""Runs the traffic through writer, store, outbox and webhook, and searches meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from orchestrator.cameras.configuration import Sink
from orchestrator.cameras.passes import PassEvent
from orchestrator.cameras.sinks.deliverer import Deliverer
from orchestrator.cameras.sinks.registry import make_receiver
from orchestrator.cameras.store.pass_query import PassQuery, Requester
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cameras.watching.event_writer import EventWriter
from workshop.benchmarks.fleet.made_events import Traffic
from workshop.benchmarks.fleet.webhook import Received, receiving

SEARCH_EVERY_S = 0.5
REQUESTER = Requester("benchmark", "measures a thousand cameras")
LONGEST_DRAIN_S = 60.0
Key = tuple[str, str]


@dataclass
class TimedStore:
    """A store that notes when each event is written.

    Attributes:
        store: The store.
        written_s: Unix time by the pass's id and the kind of the event.
        busy_s: Time in the store.
    """

    store: PassStore
    written_s: dict[Key, float] = field(default_factory=dict)
    busy_s: float = 0.0

    def write(self, events: Sequence[PassEvent], sinks: Sequence[Sink]) -> None:
        """Write events, see `PassStore`."""
        started = time.perf_counter()
        self.store.write(events, sinks)
        self.busy_s += time.perf_counter() - started
        self.written_s |= {(one.passed.id, one.kind): time.time() for one in events}


@dataclass(frozen=True)
class Outcome:
    """The figures of a run.

    Attributes:
        passes: Number of passes.
        seconds: Time of the traffic.
        stored_s: Delay of each event to the store, seconds.
        delivered_s: Delay of each event to the webhook.
        undelivered: Events that had not come when the run ended.
        waited: Most events that waited for the store at once.
        searches_ms: Times of searches by kind.
        busy_share: Share of the time in which the store wrote.
    """

    passes: int
    seconds: float
    stored_s: list[float]
    delivered_s: list[float]
    undelivered: int
    waited: int
    searches_ms: dict[str, list[float]]
    busy_share: float


async def simulate(store: PassStore, traffic: Traffic, seconds: float) -> Outcome:
    """Run the traffic for some seconds."""
    timed = TimedStore(store)
    searches: dict[str, list[float]] = {}
    put_s: dict[Key, float] = {}
    waited = 0
    async with receiving() as received:
        sink = Sink("erp", "webhook", received.url, private_addresses=True)
        deliverer = Deliverer({"erp": make_receiver(sink, [], {})}, store.outbox)
        writer = EventWriter(timed, [sink], deliverer.wake)
        running = [
            asyncio.create_task(one)
            for one in (writer.run(), deliverer.run(), _search(store, searches))
        ]
        started = time.monotonic()
        async for event in traffic.events(seconds):
            put_s[event.passed.id, event.kind] = time.time()
            await writer.put(event)
            waited = max(waited, writer.waiting)
        took_s = time.monotonic() - started
        await writer.drain()
        await _wait_for(received, len(put_s))
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    came = {key: received.at_s.get(f"{key[0]}_{key[1]}_0") for key in put_s}
    return Outcome(
        passes=traffic.made,
        seconds=took_s,
        stored_s=[timed.written_s[key] - at_s for key, at_s in put_s.items()],
        delivered_s=[at - put_s[key] for key, at in came.items() if at],
        undelivered=sum(not at for at in came.values()),
        waited=waited,
        searches_ms=searches,
        busy_share=timed.busy_s / took_s,
    )


async def _wait_for(received: Received, count: int) -> None:
    deadline = time.monotonic() + LONGEST_DRAIN_S
    while len(received.at_s) < count and time.monotonic() < deadline:
        await asyncio.sleep(0.1)


async def _search(store: PassStore, times: dict[str, list[float]]) -> None:
    """Search as people and pages do, until the task is cancelled."""
    queries = {
        "newest": PassQuery(),
        "camera": PassQuery(cameras=("camera 0007",)),
        "text": PassQuery(text="A123BC77"),
        "start": PassQuery(text="A12*"),
        "part": PassQuery(text="*23BC*"),
        "one edit": PassQuery(text="A123BC77", edits=1),
    }
    with suppress(asyncio.CancelledError):
        while True:
            for name, query in queries.items():
                started = time.perf_counter()
                await asyncio.to_thread(store.search, query, REQUESTER)
                times.setdefault(name, []).append(1000 * (time.perf_counter() - started))
                await asyncio.sleep(SEARCH_EVERY_S)
