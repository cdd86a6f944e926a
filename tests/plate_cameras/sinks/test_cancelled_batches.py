"""A sink that is cancelled at any moment: each event is accepted, postponed or given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError
from plate_cameras.sinks.sink_queue import LEASE_S, SinkQueue
from plate_cameras.store.errors import StoreUnavailable
from tests.plate_cameras.sinks.cancelling import cancel_everywhere
from tests.plate_cameras.sinks.deliveries import make_delivery
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox

NOW_S = 1000.0
PASSES = [f"pass-{number}" for number in range(6)]


def make_events() -> list[Delivery]:
    """Return the events of six passes; each of the first three has two."""
    agreed = [make_delivery(at, pass_id=f"pass-{at}", kind="agreed") for at in range(3)]
    return agreed + [make_delivery(10 + at, pass_id=f"pass-{at}") for at in range(6)]


ALL = {event.id for event in make_events()}


class SlowReceiver:
    """A receiver that waits before and after each event, and rejects some events the first time.

    Attributes:
        taken: Ids of the events that it has, in their order.
        answered: Ids of events that are confirmed to the sender.
        repeated: Ids of events that came again after the confirmation.
    """

    at_once = 3

    def __init__(self, *rejected: str) -> None:
        self.taken: list[str] = []
        self.answered: set[str] = set()
        self.repeated: set[str] = set()
        self._rejected = {*rejected}
        self.is_closed = False

    async def send(self, delivery: Delivery) -> None:
        await asyncio.sleep(0)
        if delivery.id in self._rejected:
            self._rejected.remove(delivery.id)
            raise DeliveryError("busy")
        self.taken.append(delivery.id)
        self.repeated |= {delivery.id} & self.answered
        await asyncio.sleep(0)
        self.answered.add(delivery.id)

    async def idle(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.is_closed = True


class FaultyOutbox(MemoryOutbox):
    """Cannot be used at its n-th call."""

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.calls, self.at = 0, at

    def count_call(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise StoreUnavailable("the database is away")

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        self.count_call()
        return super().claim(sink, limit, now_s, lease_s)

    def confirm(self, deliveries: Sequence[Delivery], now_s: float) -> None:
        self.count_call()
        super().confirm(deliveries, now_s)

    def postpone(self, delivery: Delivery, reason: str, due_s: float) -> None:
        self.count_call()
        super().postpone(delivery, reason, due_s)

    def release(self, delivery: Delivery, due_s: float) -> None:
        self.count_call()
        super().release(delivery, due_s)

    def hasten(self, sink: str, now_s: float) -> None:
        self.count_call()
        super().hasten(sink, now_s)

    def waiting(self, sink: str) -> int:
        self.count_call()
        return super().waiting(sink)


class Site:
    """A sink with a slow receiver, its outbox, and a stopped clock."""

    def __init__(self, fault_at: int = 0) -> None:
        self.outbox = FaultyOutbox(fault_at)
        self.outbox.add(make_events())
        self.receiver = SlowReceiver("pass-1-agreed", "pass-4-closed", "pass-5-closed")
        self.now_s = NOW_S
        self.queue = self.open_queue()

    def open_queue(self) -> SinkQueue:
        return SinkQueue("erp", self.receiver, self.outbox, lambda: self.now_s)

    async def deliver(self) -> None:
        await self.queue.deliver_due()

    async def deliver_in_rounds(self) -> None:
        """Deliver all events; no lease ends meanwhile."""
        for _ in range(10):
            with suppress(StoreUnavailable):
                await self.queue.deliver_due()
            self.now_s += 20

    def find_faults(self) -> Iterator[str]:
        """Yield the violations after a new queue has delivered the rest."""
        waiting, taken = self.outbox.waiting_ids("erp"), self.receiver.taken
        answered = self.receiver.answered
        yield from (f"{one} was accepted, and waits" for one in sorted(answered & waiting))
        yield from (f"{one} was not sent" for one in sorted(ALL - waiting - {*taken}))
        self.now_s, self.queue = NOW_S + LEASE_S - 201, self.open_queue()
        asyncio.run(self.deliver_in_rounds())
        yield from (f"{one} stays claimed" for one in sorted(self.outbox.waiting_ids("erp")))
        yield from (f"{one} came again" for one in sorted(self.receiver.repeated))
        yield from (f"{one} was overtaken" for one in PASSES if not is_in_order(taken, one))


def is_in_order(taken: Sequence[str], pass_id: str) -> bool:
    """Tell whether the pass's first event never comes after its last one."""
    kinds = [id_.rpartition("-")[2] for id_ in taken if id_.startswith(pass_id)]
    return kinds == sorted(kinds)


def find_faults(
    act: Callable[[Site], Coroutine[Any, Any, None]], *, in_any_task: bool
) -> list[str]:
    """Return the violations after a cancellation at each wait."""
    runs = cancel_everywhere(Site, act, in_any_task=in_any_task)
    return [f"wait {at}: {fault}" for at, site in runs for fault in site.find_faults()]


def test_a_cancelled_batch_leaves_nothing_claimed_and_forgets_no_answer() -> None:
    assert find_faults(Site.deliver, in_any_task=False) == []


def test_a_task_of_a_batch_that_somebody_cancels_loses_nothing() -> None:
    assert find_faults(Site.deliver_in_rounds, in_any_task=True) == []


@pytest.mark.parametrize("fault_at", range(1, 25))
def test_a_store_that_is_away_for_one_call_costs_nothing(fault_at: int) -> None:
    site = Site(fault_at)
    asyncio.run(site.deliver_in_rounds())
    assert [*site.find_faults()] == []
    assert {*site.receiver.taken} == ALL
