"""Sinks whose receivers follow a script; the clock is moved by hand."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.cameras.sinks.claims import GIVE_UP_S, LEAST_ATTEMPTS
from orchestrator.cameras.sinks.outbox import Delivery
from orchestrator.cameras.sinks.receiver import DeliveryError, ReceiverGone, Undeliverable
from orchestrator.cameras.sinks.sink_queue import LONGEST_REST_S, SinkQueue
from tests.cameras.sinks.deliveries import make_delivery
from tests.cameras.sinks.memory_outbox import MemoryOutbox
from tests.cameras.sinks.receivers import AWAY, ScriptedReceiver, WideReceiver


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
        """Deliver, each time after the pause that was asked for."""
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
    assert LONGEST_REST_S / 2 <= max(pauses) <= LONGEST_REST_S
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
    old = replace(make_delivery(1), attempts=LEAST_ATTEMPTS)
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


def test_any_exception_of_a_receiver_is_a_failed_attempt() -> None:
    class Broken(ScriptedReceiver):
        async def send(self, delivery: Delivery) -> None:
            raise KeyError("secret")

    site = Site(Broken(), [make_delivery(1)])
    site.deliver()
    assert (site.queue.status.failed_attempts, site.queue.status.last_error) == (1, "KeyError")


def test_a_receiver_may_take_several_events_at_once() -> None:
    site = Site(WideReceiver(), [make_delivery(number) for number in range(10)])
    site.deliver()
    assert (site.receiver.most, site.queue.status.delivered) == (4, 10)
    assert len(site.receiver.received) == 10


def test_the_events_of_a_pass_are_never_on_their_way_together() -> None:
    events = [make_delivery(1, pass_id="a", kind="agreed"), make_delivery(2, pass_id="a")]
    site = Site(WideReceiver(), events)
    site.run(2)
    assert (site.receiver.most, site.receiver.received) == (1, ["a-agreed", "a-closed"])


class CountingOutbox(MemoryOutbox):
    """Notes how many deliveries are confirmed together, and how often waiting ones are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.confirmed: list[int] = []
        self.counted = 0

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


def test_one_bad_event_among_several_stops_none() -> None:
    site = Site(WideReceiver(AWAY), [make_delivery(number) for number in range(8)])
    site.deliver()
    assert len(site.receiver.received) == 7
    assert not site.queue.is_resting
