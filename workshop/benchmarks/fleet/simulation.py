"""Runs the traffic through writer, store, outbox, webhook and control room."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from plate_cameras.configuration import Sink
from plate_cameras.passes import PassEvent
from plate_cameras.sinks.deliverer import Deliverer
from plate_cameras.sinks.registry import make_receiver
from plate_cameras.store.pass_store import PassStore
from plate_cameras.watching.event_writer import EventWriter
from workshop.benchmarks.fleet.cpu import read_cpu_s
from workshop.benchmarks.fleet.made_events import Traffic
from workshop.benchmarks.fleet.outside import Arrivals, Outside
from workshop.benchmarks.fleet.people import Key

WATCHER = "watcher: writer and deliverer"
MAKING, OUTSIDE = "making the passes", "webhook and people"


@dataclass
class TimedStore:
    """A store that notes when each event is written.

    Attributes:
        store: The store.
        written_s: Unix time by the pass's id and the kind of the event.
        busy_s: Time in the store.
        writes: Number of transactions.
    """

    store: PassStore
    written_s: dict[Key, float] = field(default_factory=dict)
    busy_s: float = 0.0
    writes: int = 0

    def write(self, events: Sequence[PassEvent], sinks: Sequence[Sink]) -> None:
        """Write events, see `PassStore`."""
        started = time.perf_counter()
        self.store.write(events, sinks)
        self.busy_s += time.perf_counter() - started
        self.writes += 1
        self.written_s |= {(one.passed.id, one.kind): time.time() for one in events}


@dataclass(frozen=True)
class Outcome:
    """The figures of a run.

    Attributes:
        passes: Number of passes.
        seconds: Time of the traffic.
        put_s: Unix time at which each event was there.
        written_s: Unix time at which it was stored.
        posted: Events that the webhook wants.
        arrivals: The events and answers that came to the outside.
        waited: Most events that waited for the store at once.
        writes: Number of transactions.
        busy_share: Share of the time in which the store wrote.
        cpu_s: CPU time by role.
    """

    passes: int
    seconds: float
    put_s: Mapping[Key, float]
    written_s: Mapping[Key, float]
    posted: Sequence[Key]
    arrivals: Arrivals
    waited: int
    writes: int
    busy_share: float
    cpu_s: Mapping[str, float]


async def simulate(
    store: PassStore,
    traffic: Traffic,
    seconds: float,
    outside: Outside,
    servers: Mapping[str, tuple[int, ...]],
) -> Outcome:
    """Run the traffic for some seconds.

    Args:
        store: The store.
        traffic: The passes.
        seconds: Length of the run.
        outside: The webhook and the people.
        servers: Processes by their roles.
    """
    timed = TimedStore(store)
    sink = Sink("erp", "webhook", outside.webhook, private_addresses=True)
    before_s, own_s = read_cpu_s(servers), _own_cpu_s()
    async with _writing(timed, sink) as writer:
        started = time.monotonic()
        put_s, waited = await _put(writer, traffic, seconds)
        took_s = time.monotonic() - started
        await writer.drain()
        posted = [key for key in put_s if key[1] in sink.events]
        arrivals = await outside.finish(len(posted), len(put_s))
    cpu_s = {WATCHER: _own_cpu_s() - own_s - traffic.cpu_s}
    cpu_s |= {role: now_s - before_s[role] for role, now_s in read_cpu_s(servers).items()}
    return Outcome(
        traffic.made,
        took_s,
        put_s,
        timed.written_s,
        posted,
        arrivals,
        waited,
        timed.writes,
        timed.busy_s / took_s,
        cpu_s | {MAKING: traffic.cpu_s, OUTSIDE: arrivals.cpu_s},
    )


@asynccontextmanager
async def _writing(store: TimedStore, sink: Sink) -> AsyncIterator[EventWriter]:
    """Write and deliver events, as a watcher does, until the end of the block."""
    deliverer = Deliverer({sink.name: make_receiver(sink, [], {})}, store.store.outbox)
    writer = EventWriter(store, [sink], deliverer.wake)
    running = [asyncio.create_task(one) for one in (writer.run(), deliverer.run())]
    yield writer
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def _put(
    writer: EventWriter, traffic: Traffic, seconds: float
) -> tuple[dict[Key, float], int]:
    """Return when each event was put, and how many waited at most."""
    put_s: dict[Key, float] = {}
    waited = 0
    async for event in traffic.events(seconds):
        put_s[event.passed.id, event.kind] = time.time()
        await writer.put(event)
        waited = max(waited, writer.waiting)
    return put_s, waited


def _own_cpu_s() -> float:
    return sum(os.times()[:2])
