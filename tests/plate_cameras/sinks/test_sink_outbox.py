"""A sink and its outbox: outcomes are recorded, faults cost nothing, leases are kept."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest

from plate_cameras.sinks import outbox as outbox_module
from plate_cameras.sinks import sink_queue
from plate_cameras.sinks.outbox import Delivery, OutboxTimeout
from plate_cameras.sinks.receiver import SEND_LIMIT_S, DeliveryError
from plate_cameras.sinks.sink_queue import LEASE_S, SinkQueue
from plate_cameras.store.errors import StoreUnavailable
from tests.plate_cameras.sinks.cancelling import cancel_everywhere
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox
from tests.plate_cameras.sinks.receivers import (
    AWAY,
    ActingReceiver,
    ScriptedReceiver,
    SinkSite,
    ids,
    make_delivery,
    until_so,
)
from tests.waiting import until


@pytest.mark.parametrize(
    ("receiver", "sizes"),
    [
        pytest.param(ScriptedReceiver(at_once=4), [20, 10], id="several at once"),
        pytest.param(ScriptedReceiver(), [1] * 10, id="one at a time"),
        pytest.param(ScriptedReceiver(AWAY, at_once=4), [3, 1, 20, 5], id="until one fails"),
    ],
)
def test_accepted_events_are_recorded_together(
    receiver: ScriptedReceiver, sizes: list[int]
) -> None:
    site = SinkSite(receiver, 30)
    site.deliver()
    assert site.outbox.confirmations == sizes


@pytest.mark.parametrize(
    ("at_once", "takes_s", "count"), [(1, SEND_LIMIT_S, 8), (4, 100, 4)], ids=["singly", "together"]
)
def test_nothing_is_sent_that_could_end_after_its_lease(
    at_once: int, takes_s: float, count: int
) -> None:
    """After the lease of an event has ended, another process may claim and send it."""

    async def take_long() -> None:
        site.steady_s += takes_s

    site = SinkSite(ActingReceiver(take_long, at_once), 10)
    assert site.deliver() == 0
    assert len(site.receiver.received_ids) == count
    assert len(site.outbox.claim("erp", 99, site.now_s, 60)) == 10 - count


async def test_a_store_that_is_away_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    def fail(name: str) -> None:
        if name == "claim" and site.outbox.calls[name] < 4:
            raise StoreUnavailable("away")

    site = SinkSite(ScriptedReceiver(), 1)
    site.outbox.before = fail
    async with site.running():
        await until_so(lambda: site.queue.wake() or len(caplog.messages) == 2)
    assert site.receiver.received_ids == ids(0)
    assert caplog.messages == [
        "sink erp: the store cannot be used: away",
        "sink erp: the store can be used again",
    ]


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch, release: threading.Event) -> SinkSite:
    """Return a site with one event, after a claim that exceeded the sink's timeout."""
    monkeypatch.setattr(outbox_module, "LIMIT_S", 0.05)
    site = SinkSite(ScriptedReceiver(), 1)
    site.outbox.before = lambda name: name == "claim" and release.wait(60)
    with pytest.raises(OutboxTimeout, match=r"no answer of the database within 0\.05 s"):
        site.deliver()
    return site


def test_a_claim_that_hangs_is_not_repeated_and_is_given_back_without_the_sink(
    hanging: SinkSite, release: threading.Event
) -> None:
    with pytest.raises(OutboxTimeout):
        hanging.deliver()
    assert (hanging.outbox.calls["claim"], hanging.outbox.next_due_s("erp")) == (1, 0.0)
    release.set()
    until(lambda: hanging.outbox.next_due_s("erp") == 1000.0, "a delivery that is given back")


def test_a_sink_goes_on_when_an_outbox_answers_again(
    hanging: SinkSite, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.set()
    monkeypatch.setattr(outbox_module, "LIMIT_S", 20)
    hanging.deliver()
    assert hanging.receiver.received_ids == ids(0)


def test_what_was_not_sent_is_given_back_once_and_rests_with_the_sink() -> None:
    site = SinkSite(ScriptedReceiver(AWAY, AWAY), 5)
    rest_s = site.deliver()
    assert rest_s > 0
    assert site.outbox.calls["release"] == 3
    assert site.outbox.claim("erp", 9, site.now_s + 2.49, 1) == []
    assert site.outbox.next_due_s("erp") <= site.now_s + rest_s
    site.deliver()
    assert site.outbox.calls["release"] == 3


def test_failed_events_are_made_due_once_when_the_receiver_answers_again() -> None:
    site = SinkSite(ScriptedReceiver(AWAY, AWAY), 30)
    for after_s in (0, 5, 0):
        site.deliver(after_s)
    assert site.outbox.calls["hasten"] == 1


async def test_an_idle_sink_asks_the_outbox_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_queue, "POLL_S", 60.0)
    site = SinkSite(ScriptedReceiver(), 0)
    async with site.running():
        await asyncio.sleep(0.2)
    assert site.outbox.calls["claim"] == 1


class SlowReceiver:
    """A receiver that waits before and after each event, and rejects some events the first time.

    Attributes:
        taken_ids: Ids of the events that it has, in their order.
        answered_ids: Ids of events that are confirmed to the sender.
        repeated_ids: Ids of events that came again after the confirmation.
    """

    at_once = 3

    def __init__(self, *rejected_ids: str) -> None:
        self.taken_ids: list[str] = []
        self.answered_ids: set[str] = set()
        self.repeated_ids: set[str] = set()
        self._rejected_ids = {*rejected_ids}

    async def send(self, delivery: Delivery) -> None:
        await asyncio.sleep(0)
        if delivery.id in self._rejected_ids:
            self._rejected_ids.remove(delivery.id)
            raise DeliveryError("busy")
        self.taken_ids.append(delivery.id)
        self.repeated_ids |= {delivery.id} & self.answered_ids
        await asyncio.sleep(0)
        self.answered_ids.add(delivery.id)

    async def idle(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None: ...


class BusySite:
    """A sink with events of six passes, of which three have two, and a slow receiver.

    Args:
        fault_at: Number of the call at which the outbox cannot be used.
    """

    def __init__(self, fault_at: int = 0) -> None:
        def fail(_name: str) -> None:
            if self.outbox.calls.total() == fault_at:
                raise StoreUnavailable("the database is away")

        agreed_events = [make_delivery(at, pass_id=f"pass-{at}", kind="agreed") for at in range(3)]
        events = agreed_events + [make_delivery(10 + at, pass_id=f"pass-{at}") for at in range(6)]
        self.all = {event.id for event in events}
        self.outbox = MemoryOutbox(events, fail)
        self.receiver = SlowReceiver("pass-1-agreed", "pass-4-closed", "pass-5-closed")
        self.now_s = 1000.0
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
        waiting_ids, taken_ids = self.outbox.waiting_ids("erp"), self.receiver.taken_ids
        accepted_ids = self.receiver.answered_ids & waiting_ids
        yield from (f"{id_} was accepted, and waits" for id_ in accepted_ids)
        yield from (f"{id_} was not sent" for id_ in self.all - waiting_ids - {*taken_ids})
        self.now_s, self.queue = 1000.0 + LEASE_S - 201, self.open_queue()
        asyncio.run(self.deliver_in_rounds())
        yield from (f"{id_} stays claimed" for id_ in self.outbox.waiting_ids("erp"))
        yield from (f"{id_} came again" for id_ in self.receiver.repeated_ids)
        for at in range(3):
            kinds = [id_ for id_ in taken_ids if id_.startswith(f"pass-{at}-")]
            if kinds != sorted(kinds):  # agreed, then closed
                yield f"pass-{at} was overtaken"


@pytest.mark.parametrize(
    ("act", "in_any_task"),
    [
        pytest.param(BusySite.deliver, False, id="the batch"),
        pytest.param(BusySite.deliver_in_rounds, True, id="any of its tasks"),
    ],
)
def test_a_cancelled_batch_leaves_nothing_claimed_and_forgets_no_answer(
    act: Callable[[BusySite], Coroutine[Any, Any, None]], *, in_any_task: bool
) -> None:
    runs = cancel_everywhere(BusySite, act, in_any_task=in_any_task)
    assert [f"wait {at}: {fault}" for at, site in runs for fault in site.find_faults()] == []


@pytest.mark.parametrize("fault_at", range(1, 25))
def test_a_store_that_is_away_for_one_call_costs_nothing(fault_at: int) -> None:
    site = BusySite(fault_at)
    asyncio.run(site.deliver_in_rounds())
    assert [*site.find_faults()] == []
    assert {*site.receiver.taken_ids} == site.all
