"""Sinks whose receivers follow a script; the clock is moved by hand."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from plate_cameras.sinks import outbox as outbox_module
from plate_cameras.sinks import receiver as receiver_module
from plate_cameras.sinks import sink_queue
from plate_cameras.sinks.claims import GIVE_UP_S, MIN_ATTEMPTS
from plate_cameras.sinks.outbox import Delivery, OutboxTimeout
from plate_cameras.sinks.receiver import SEND_LIMIT_S, DeliveryError, ReceiverGone, Undeliverable
from plate_cameras.sinks.sink_queue import LEASE_S, MAX_REST_S, SinkQueue
from plate_cameras.store.errors import StoreUnavailable
from tests.plate_cameras.sinks.deliveries import make_delivery
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox
from tests.plate_cameras.sinks.receivers import (
    AWAY,
    HangingReceiver,
    ScriptedReceiver,
    WideReceiver,
)
from tests.waiting import until


class Site:
    """One sink with deliveries, and a clock."""

    def __init__(self, receiver: ScriptedReceiver, deliveries: Sequence[Delivery]) -> None:
        self.now_s = 1000.0
        self.outbox = MemoryOutbox()
        self.outbox.add(deliveries)
        self.receiver = receiver
        self.queue = SinkQueue("erp", receiver, self.outbox, lambda: self.now_s)

    def deliver(self) -> float:
        return asyncio.run(self.queue.deliver_due())

    def run(self, rounds: int) -> None:
        """Deliver repeatedly, each time after the pause that the queue returned."""
        for _ in range(rounds):
            self.now_s += self.deliver()


def test_nothing_to_do_is_a_short_pause() -> None:
    site = Site(ScriptedReceiver(), [])
    assert site.deliver() > 0
    assert site.receiver.idle_times == 1


def test_events_are_delivered_in_their_order() -> None:
    site = Site(ScriptedReceiver(), [make_delivery(number) for number in range(30)])
    site.run(3)
    assert site.receiver.received == [f"pass-{number}-closed" for number in range(30)]
    assert site.queue.status.delivered == 30


def test_one_bad_event_does_not_stop_the_others() -> None:
    bad = DeliveryError("the receiver answered with status 400")
    site = Site(ScriptedReceiver(bad), [make_delivery(number) for number in range(3)])
    site.deliver()
    assert site.receiver.received == ["pass-1-closed", "pass-2-closed"]
    assert not site.queue.is_resting
    assert site.outbox.next_due_s("erp") > site.now_s
    site.now_s += 5
    site.deliver()
    assert site.receiver.received[-1] == "pass-0-closed"


def test_the_events_of_a_pass_keep_their_order_after_a_failure() -> None:
    events = [make_delivery(1, pass_id="a", kind="agreed"), make_delivery(2, pass_id="a")]
    site = Site(ScriptedReceiver(AWAY), events)
    site.run(1)
    assert site.receiver.received == []
    site.now_s += 5
    site.run(2)
    assert site.receiver.received == ["a-agreed", "a-closed"]


def test_a_sink_that_is_away_rests_longer_and_longer_and_loses_nothing() -> None:
    site = Site(ScriptedReceiver(*[AWAY] * 40), [make_delivery(number) for number in range(25)])
    pauses = [site.deliver()]
    assert site.queue.is_resting
    for _ in range(60):
        site.now_s += max(pauses[-1], 60)
        pauses.append(site.deliver())
    assert MAX_REST_S / 2 <= max(pauses) <= MAX_REST_S
    assert sorted(site.receiver.received) == sorted(f"pass-{number}-closed" for number in range(25))
    assert site.queue.status.failed_attempts == 40
    assert site.queue.status.last_error == ""


def test_a_receiver_may_ask_for_a_pause() -> None:
    site = Site(ScriptedReceiver(DeliveryError("busy", retry_after_s=90)), [make_delivery(1)])
    assert site.deliver() == 90
    site.now_s += 89
    site.deliver()
    assert site.receiver.received == []
    site.now_s += 1
    site.deliver()
    assert site.receiver.received == ["pass-1-closed"]


def test_a_receiver_that_is_gone_gets_no_more(caplog: pytest.LogCaptureFixture) -> None:
    site = Site(ScriptedReceiver(ReceiverGone("410")), [make_delivery(1), make_delivery(2)])
    site.run(5)
    assert site.receiver.received == []
    assert site.queue.status.is_disabled
    assert caplog.messages == ["sink erp wants no more events: 410"]
    site.queue.enable()
    site.now_s += 60
    site.run(3)
    assert sorted(site.receiver.received) == ["pass-1-closed", "pass-2-closed"]


def test_an_event_that_is_too_old_is_given_up_and_told(caplog: pytest.LogCaptureFixture) -> None:
    old = replace(make_delivery(1), attempts=MIN_ATTEMPTS)
    site = Site(ScriptedReceiver(AWAY), [old, make_delivery(2)])
    site.now_s = GIVE_UP_S + 1.5
    site.deliver()
    assert site.queue.status.abandoned == 1
    assert site.receiver.received == ["pass-2-closed"]
    assert caplog.messages == ["sink erp: gave up pass-1-closed: away"]


def test_a_replayed_old_event_is_tried_again_and_again() -> None:
    site = Site(ScriptedReceiver(AWAY, AWAY), [make_delivery(1)])
    site.now_s = 2 * GIVE_UP_S
    assert site.outbox.replay("erp", since_s=0, now_s=site.now_s) == 1
    site.run(1)
    assert site.queue.status.abandoned == 0
    for _ in range(3):
        site.now_s += 60
        site.deliver()
    assert site.receiver.received == ["pass-1-closed"]


def test_an_event_that_cannot_be_delivered_is_given_up_at_once() -> None:
    site = Site(ScriptedReceiver(Undeliverable("too large")), [make_delivery(1), make_delivery(2)])
    site.deliver()
    assert site.receiver.received == ["pass-2-closed"]
    assert (site.queue.status.abandoned, site.queue.is_resting) == (1, False)


def test_the_events_of_a_pass_are_never_on_their_way_together() -> None:
    events = [make_delivery(1, pass_id="a", kind="agreed"), make_delivery(2, pass_id="a")]
    site = Site(WideReceiver(), events)
    site.run(2)
    assert (site.receiver.most, site.receiver.received) == (1, ["a-agreed", "a-closed"])


class CountingOutbox(MemoryOutbox):
    """An outbox that counts confirmed deliveries and reads of the backlog."""

    def __init__(self) -> None:
        super().__init__()
        self.confirmed: list[int] = []
        self.counted = self.hastened = self.released = self.claims = 0

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        self.claims += 1
        return super().claim(sink, limit, now_s, lease_s)

    def hasten(self, sink: str, now_s: float) -> None:
        self.hastened += 1
        super().hasten(sink, now_s)

    def release(self, delivery: Delivery, due_s: float) -> None:
        self.released += 1
        super().release(delivery, due_s)

    def confirm(self, deliveries: Sequence[Delivery], now_s: float) -> None:
        self.confirmed.append(len(deliveries))
        super().confirm(deliveries, now_s)

    def waiting(self, sink: str) -> int:
        self.counted += 1
        return super().waiting(sink)


@pytest.mark.parametrize(
    ("receiver", "sizes"),
    [
        pytest.param(WideReceiver(), [20, 10], id="several at once"),
        pytest.param(ScriptedReceiver(), [1] * 10, id="one at a time"),
    ],
)
def test_accepted_events_are_recorded_together(
    receiver: ScriptedReceiver, sizes: list[int]
) -> None:
    outbox = CountingOutbox()
    outbox.add([make_delivery(number) for number in range(30)])
    asyncio.run(SinkQueue("erp", receiver, outbox, lambda: 1000.0).deliver_due())
    assert outbox.confirmed == sizes


def test_waiting_events_are_counted_seldom_while_many_come() -> None:
    outbox, receiver = CountingOutbox(), ScriptedReceiver()
    outbox.add([make_delivery(number) for number in range(30)])
    queue = SinkQueue("erp", receiver, outbox, lambda: 1000.0)

    async def run() -> None:
        for _ in range(3):
            await queue.deliver_due()

    asyncio.run(run())
    assert (outbox.counted, queue.status.waiting) == (1, 30)
    asyncio.run(queue.deliver_due())
    assert (outbox.counted, queue.status.waiting) == (2, 0)


def test_several_failures_at_once_are_one_outage() -> None:
    site = Site(WideReceiver(*[AWAY] * 4), [make_delivery(number) for number in range(10)])
    assert 2.5 <= site.deliver() <= 5
    assert site.queue.is_resting
    assert site.queue.status.failed_attempts == 4
    site.now_s += 60
    site.run(1)
    assert site.receiver.most == 4
    assert len(site.receiver.received) == 10


def test_what_fails_is_told_once_and_when_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    busy = DeliveryError("busy")
    site = Site(ScriptedReceiver(AWAY, AWAY, AWAY, busy), [make_delivery(at) for at in range(9)])
    for _ in range(6):
        site.deliver()
        site.now_s += 60
    assert site.queue.status.delivered == 9
    assert caplog.messages == [
        "sink erp cannot deliver: away",
        "sink erp cannot deliver: busy",
        "sink erp delivers again",
    ]


def test_the_reason_stands_in_the_status_until_an_event_is_accepted() -> None:
    refused = DeliveryError("cannot post: Connection refused")
    site = Site(ScriptedReceiver(refused, refused), [make_delivery(1), make_delivery(2)])
    site.deliver()
    status = site.queue.status
    assert (status.last_error, status.failure) == (
        "cannot post: Connection refused",
        "cannot post",
    )
    site.now_s += 60
    site.deliver()
    assert (site.queue.status.last_error, site.queue.status.failure) == ("", "")


@pytest.mark.parametrize(
    ("attempts", "age_s", "is_given_up"),
    [
        pytest.param(MIN_ATTEMPTS, GIVE_UP_S + 1, True, id="old-and-tried-often"),
        pytest.param(MIN_ATTEMPTS - 1, GIVE_UP_S + 1, False, id="old"),
        pytest.param(MIN_ATTEMPTS, GIVE_UP_S, False, id="tried-often"),
    ],
)
def test_an_event_is_given_up_when_it_is_old_and_was_tried_often(
    attempts: int, age_s: float, *, is_given_up: bool
) -> None:
    site = Site(ScriptedReceiver(AWAY), [replace(make_delivery(0), attempts=attempts)])
    site.now_s = age_s
    site.deliver()
    assert site.queue.status.abandoned == is_given_up
    assert site.outbox.waiting("erp") == (not is_given_up)


def test_the_pauses_of_an_event_grow_to_half_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda _, longest: longest)
    assert [find_pause_s(attempts) for attempts in (0, 1, 5, 20)] == [5, 10, 160, 12 * 3600]
    monkeypatch.setattr(random, "uniform", lambda shortest, _: shortest)
    assert [find_pause_s(attempts) for attempts in (0, 20)] == [2.5, 6 * 3600]


def find_pause_s(attempts: int) -> float:
    """Return the seconds until an event is due again after a further failure."""
    site = Site(ScriptedReceiver(AWAY), [replace(make_delivery(0), attempts=attempts)])
    site.deliver()
    return site.outbox.next_due_s("erp") - site.now_s


def test_a_receiver_that_is_gone_amid_others_gets_no_more() -> None:
    errors = (DeliveryError("busy"), ReceiverGone("410"))
    site = Site(WideReceiver(*errors), [make_delivery(number) for number in range(9)])
    site.deliver()
    assert site.queue.status.is_disabled
    assert site.outbox.waiting("erp") == 9 - len(site.receiver.received)
    received = [*site.receiver.received]
    site.run(3)
    assert site.receiver.received == received


def test_an_enabled_receiver_gets_at_once_what_had_failed_often() -> None:
    tried = replace(make_delivery(1), attempts=9)
    site = Site(ScriptedReceiver(ReceiverGone("410")), [tried])
    site.deliver()
    site.queue.enable()
    site.deliver()
    assert site.receiver.received == ["pass-1-closed"]


class Broken(ScriptedReceiver):
    async def send(self, delivery: Delivery) -> None:
        raise KeyError("secret")


class Cancelled(ScriptedReceiver):
    async def send(self, delivery: Delivery) -> None:
        raise asyncio.CancelledError


class Exiting(ScriptedReceiver):
    async def send(self, delivery: Delivery) -> None:
        raise SystemExit(2)


class Clinging(ScriptedReceiver):
    """A receiver that does not answer, and ignores the first cancellation."""

    async def send(self, delivery: Delivery) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("receiver", "reason"),
    [
        pytest.param(Broken(), "KeyError", id="has-another-exception"),
        pytest.param(Cancelled(), "CancelledError", id="cancels-itself"),
        pytest.param(Exiting(), "SystemExit", id="ends-the-process"),
        pytest.param(HangingReceiver(), "no answer within 0.05 s", id="hangs"),
        pytest.param(Clinging(), "no answer within 0.05 s", id="clings"),
    ],
)
def test_whatever_a_receiver_does_is_a_failed_attempt(
    receiver: ScriptedReceiver, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver_module, "SEND_LIMIT_S", 0.05)
    site = Site(receiver, [make_delivery(1)])
    site.deliver()
    assert (site.queue.status.failed_attempts, site.queue.status.last_error) == (1, reason)
    assert site.outbox.claim("erp", 9, site.now_s + 5, 60) != []


def test_a_receiver_that_hangs_while_nothing_waits_does_not_hold_the_sink(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Dreaming(ScriptedReceiver):
        async def idle(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(receiver_module, "SEND_LIMIT_S", 0.05)
    site = Site(Dreaming(), [])
    site.deliver()
    site.outbox.add([make_delivery(1)])
    site.deliver()
    assert site.receiver.received == ["pass-1-closed"]


def test_nothing_is_sent_that_could_end_after_its_lease() -> None:
    """After the lease of an event has ended, another process may claim and send it."""
    steady_s = [0.0]

    class Slow(ScriptedReceiver):
        async def send(self, delivery: Delivery) -> None:
            steady_s[0] += SEND_LIMIT_S
            await super().send(delivery)

    outbox, receiver = MemoryOutbox(), Slow()
    outbox.add([make_delivery(number) for number in range(10)])
    queue = SinkQueue("erp", receiver, outbox, lambda: 1000.0, lambda: steady_s[0])
    assert asyncio.run(queue.deliver_due()) == 0
    assert len(receiver.received) == 8
    assert steady_s[0] <= LEASE_S - SEND_LIMIT_S
    assert len(outbox.claim("erp", 9, 1000.0, 60)) == 2


def test_a_store_that_is_away_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    outbox, receiver = AwayOutbox(3), ScriptedReceiver()
    outbox.add([make_delivery(1)])
    queue = SinkQueue("erp", receiver, outbox, lambda: 1000.0)

    told = lambda: len(caplog.messages) > 1  # noqa: E731
    asyncio.run(asyncio.wait_for(run_until(queue, told), 20))
    assert receiver.received == ["pass-1-closed"]
    assert caplog.messages == [
        "sink erp: the store cannot be used: away",
        "sink erp: the store can be used again",
    ]


async def run_until(queue: SinkQueue, condition: Callable[[], object]) -> None:
    running = asyncio.create_task(queue.run())
    while not condition():
        queue.wake()
        await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait({running})


class AwayOutbox(MemoryOutbox):
    """An outbox that fails for some claims."""

    def __init__(self, claims: int) -> None:
        super().__init__()
        self.left = claims

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        self.left -= 1
        if self.left >= 0:
            raise StoreUnavailable("away")
        return super().claim(sink, limit, now_s, lease_s)


class HangingOutbox(MemoryOutbox):
    """An outbox whose claims wait until they are released; it loses nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.claims, self.may_go = 0, threading.Event()

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        self.claims += 1
        assert self.may_go.wait(60)
        return super().claim(sink, limit, now_s, lease_s)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> HangingOutbox:
    """Return an outbox with one event, after a claim that exceeded the sink's timeout."""
    monkeypatch.setattr(outbox_module, "LIMIT_S", 0.05)
    outbox = HangingOutbox()
    outbox.add([make_delivery(1)])
    return outbox


def test_an_outbox_that_hangs_holds_a_sink_for_a_limited_time(hanging: HangingOutbox) -> None:
    queue = SinkQueue("erp", ScriptedReceiver(), hanging, lambda: 1000.0)
    with pytest.raises(OutboxTimeout, match=r"no answer of the database within 0\.05 s"):
        asyncio.run(queue.deliver_due())
    with pytest.raises(OutboxTimeout):
        asyncio.run(queue.deliver_due())
    hanging.may_go.set()
    assert hanging.claims == 1


def test_a_claim_that_ends_too_late_is_given_back_without_the_sink(hanging: HangingOutbox) -> None:
    queue = SinkQueue("erp", ScriptedReceiver(), hanging, lambda: 1000.0)
    with pytest.raises(OutboxTimeout):
        asyncio.run(queue.deliver_due())
    assert hanging.next_due_s("erp") == 1.0
    hanging.may_go.set()
    until(lambda: hanging.next_due_s("erp") == 1000.0, "a delivery that is given back")


def test_a_sink_goes_on_when_an_outbox_answers_again(
    hanging: HangingOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = SinkQueue("erp", receiver := ScriptedReceiver(), hanging, lambda: 1000.0)
    with pytest.raises(OutboxTimeout):
        asyncio.run(queue.deliver_due())
    hanging.may_go.set()
    monkeypatch.setattr(outbox_module, "LIMIT_S", 20)
    asyncio.run(queue.deliver_due())
    assert receiver.received == ["pass-1-closed"]


def fill(count: int) -> CountingOutbox:
    outbox = CountingOutbox()
    outbox.add([make_delivery(number) for number in range(count)])
    return outbox


def test_a_failure_ends_what_is_sent_together() -> None:
    outbox = fill(20)
    asyncio.run(SinkQueue("erp", WideReceiver(AWAY), outbox, lambda: 1000.0).deliver_due())
    assert outbox.confirmed[0] == 3


def test_some_bad_events_among_good_ones_are_no_outage() -> None:
    site = Site(WideReceiver(AWAY, AWAY), [make_delivery(number) for number in range(8)])
    site.deliver()
    assert (len(site.receiver.received), site.queue.is_resting) == (6, False)


def test_what_was_not_sent_is_given_back_once_and_rests_with_the_sink() -> None:
    outbox, receiver = fill(5), ScriptedReceiver(AWAY, AWAY)
    queue = SinkQueue("erp", receiver, outbox, lambda: 1000.0)
    rest_s = asyncio.run(queue.deliver_due())
    assert rest_s > 0
    assert outbox.released == 3
    assert outbox.claim("erp", 9, 1000.0 + 2.49, 1) == []
    assert outbox.next_due_s("erp") <= 1000.0 + rest_s
    asyncio.run(queue.deliver_due())
    assert outbox.released == 3


async def test_failed_events_are_made_due_once_when_the_receiver_answers_again() -> None:
    outbox, now_s = fill(30), [1000.0]
    queue = SinkQueue("erp", ScriptedReceiver(AWAY, AWAY), outbox, lambda: now_s[0])
    await queue.deliver_due()
    now_s[0] += 5
    await queue.deliver_due()
    await queue.deliver_due()
    assert outbox.hastened == 1


def test_nothing_is_sent_together_that_could_end_after_its_lease() -> None:
    steady_s = [0.0]

    class Slow(WideReceiver):
        async def send(self, delivery: Delivery) -> None:
            steady_s[0] += 100
            await super().send(delivery)

    outbox, receiver = fill(20), Slow()
    queue = SinkQueue("erp", receiver, outbox, lambda: 1000.0, lambda: steady_s[0])
    asyncio.run(queue.deliver_due())
    assert len(receiver.received) == receiver.at_once


async def test_an_idle_sink_asks_the_outbox_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_queue, "POLL_S", 60.0)
    outbox = fill(0)
    queue = SinkQueue("erp", ScriptedReceiver(), outbox, lambda: 1000.0)
    running = asyncio.create_task(queue.run())
    await asyncio.sleep(0.2)
    running.cancel()
    await asyncio.wait({running})
    assert outbox.claims == 1


async def test_an_enabled_sink_does_not_wait_for_its_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sink_queue, "POLL_S", 60.0)
    queue = SinkQueue("erp", receiver := ScriptedReceiver(ReceiverGone("410")), fill(1))
    running = asyncio.create_task(queue.run())
    while not queue.status.is_disabled:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.1)
    queue.enable()
    while not receiver.received:
        await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait({running})
