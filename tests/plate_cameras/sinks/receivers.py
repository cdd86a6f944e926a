"""Deliveries, receivers that follow a script, and a sink with such a receiver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

from plate_cameras.passes import to_document
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError
from plate_cameras.sinks.sink_queue import SinkQueue
from tests.plate_cameras.samples import make_event
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox

AWAY = DeliveryError("away")


def make_delivery(
    number: int = 0,
    *,
    sink: str = "erp",
    pass_id: str = "",
    kind: Literal["agreed", "closed"] = "closed",
) -> Delivery:
    """Return the delivery that was stored at second `number`."""
    pass_id = pass_id or f"pass-{number}"
    document = to_document(make_event(kind, id_=pass_id))
    return Delivery(f"{pass_id}-{kind}", sink, document, created_s=float(number))


class ScriptedReceiver:
    """A receiver that fails once with each given error, and then accepts all events.

    Attributes:
        max_under_way: The largest number of events that were on their way together.
    """

    def __init__(self, *errors: BaseException, at_once: int = 1) -> None:
        self.errors, self.at_once = [*errors], at_once
        self.received_ids: list[str] = []
        self.idle_times = self.under_way = self.max_under_way = 0
        self.is_closed = False

    async def send(self, delivery: Delivery) -> None:
        self.under_way += 1
        self.max_under_way = max(self.max_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        if self.errors:
            raise self.errors.pop(0)
        self.received_ids.append(delivery.id)

    async def idle(self) -> None:
        self.idle_times += 1

    async def close(self) -> None:
        self.is_closed = True


class ActingReceiver(ScriptedReceiver):
    """A receiver that awaits the result of a function before it takes an event.

    Attributes:
        attempts: Ids of the events for which the function was called.
    """

    def __init__(self, act: Callable[[], Awaitable[object]], at_once: int = 1) -> None:
        super().__init__(at_once=at_once)
        self.act, self.attempts = act, list[str]()

    async def send(self, delivery: Delivery) -> None:
        self.attempts.append(delivery.id)
        await self.act()
        await super().send(delivery)


async def until_so(condition: Callable[[], object]) -> None:
    """Let other tasks run until it is so; fail where it was not for 20 seconds."""

    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.001)

    await asyncio.wait_for(wait(), 20)


async def hang() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


def ids(*numbers: int) -> list[str]:
    return [f"pass-{number}-closed" for number in numbers]


class SinkSite:
    """One sink with deliveries, and clocks."""

    def __init__(self, receiver: ScriptedReceiver, deliveries: int | Sequence[Delivery]) -> None:
        if isinstance(deliveries, int):
            deliveries = [make_delivery(number) for number in range(deliveries)]
        self.now_s, self.steady_s = 1000.0, 0.0
        self.outbox, self.receiver = MemoryOutbox(deliveries), receiver
        self.queue = SinkQueue(
            "erp", receiver, self.outbox, lambda: self.now_s, lambda: self.steady_s
        )

    def deliver(self, after_s: float = 0.0) -> float:
        """Deliver what is due after some time; return the pause that the queue wants."""
        self.now_s += after_s
        return asyncio.run(self.queue.deliver_due())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self.queue.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait({running})
