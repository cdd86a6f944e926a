"""Several sinks side by side: their starts, stops and last events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from plate_cameras.sinks import deliverer as deliverer_module
from plate_cameras.sinks import receiver as receiver_module
from plate_cameras.sinks import sink_queue
from plate_cameras.sinks.deliverer import Deliverer
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import ReceiverGone
from tests.plate_cameras.sinks.deliveries import make_delivery
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox
from tests.plate_cameras.sinks.receivers import AWAY, HangingReceiver, ScriptedReceiver

NOW_S = 10.0


class HeldReceiver(ScriptedReceiver):
    """A receiver that holds each event until it is released."""

    at_once = 2

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.may_go = asyncio.Event()

    async def send(self, delivery: Delivery) -> None:
        self.begun.append(delivery.id)
        await self.may_go.wait()
        await super().send(delivery)


class FaultyOutbox(MemoryOutbox):
    """An outbox that raises an unexpected exception at the first claim of a sink."""

    def __init__(self, sink: str) -> None:
        super().__init__()
        self.sink, self.has_failed = sink, False

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        if sink == self.sink and not self.has_failed:
            self.has_failed = True
            raise OSError("too many open files")
        return super().claim(sink, limit, now_s, lease_s)


def fill(*numbers: int, sink: str = "erp") -> MemoryOutbox:
    outbox = MemoryOutbox()
    outbox.add([make_delivery(number, sink=sink) for number in numbers])
    return outbox


@asynccontextmanager
async def running(deliverer: Deliverer) -> AsyncIterator[None]:
    task = asyncio.create_task(deliverer.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.001)


async def test_no_sink_waits_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """One receiver hangs for ever; another one still gets all its events."""
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 0.05)
    outbox = fill(1, sink="hangs")
    outbox.add([make_delivery(1, sink="works")])
    hangs, works = HangingReceiver(), ScriptedReceiver()
    deliverer = Deliverer({"hangs": hangs, "works": works}, outbox, clock=lambda: NOW_S)
    async with running(deliverer):
        await until(lambda: deliverer.statuses[1].delivered == 1)
        outbox.add([make_delivery(2, sink="works")])
        deliverer.wake()
        await until(lambda: deliverer.statuses[1].delivered == 2)
    assert hangs.is_closed
    assert works.is_closed
    assert [status.delivered for status in deliverer.statuses] == [0, 2]


def test_the_next_deliverer_gets_at_once_what_a_stopped_one_had_claimed() -> None:
    outbox, next_receiver = fill(*range(9)), ScriptedReceiver()

    async def run() -> HeldReceiver:
        held = HeldReceiver()
        async with running(Deliverer({"erp": held}, outbox, lambda: NOW_S)):
            await until(lambda: len(held.begun) == 2)
            asyncio.get_running_loop().call_later(0.05, held.may_go.set)
        async with running(Deliverer({"erp": next_receiver}, outbox, lambda: NOW_S)):
            await until(lambda: not outbox.waiting("erp"))
        return held

    held = asyncio.run(asyncio.wait_for(run(), 20))
    assert held.received == ["pass-0-closed", "pass-1-closed"]
    assert next_receiver.received == [f"pass-{number}-closed" for number in range(2, 9)]


async def test_a_stop_gives_back_what_a_receiver_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 0.05)
    outbox = fill(1, 2)
    held = HeldReceiver()
    async with running(Deliverer({"erp": held}, outbox, lambda: NOW_S)):
        await until(lambda: len(held.begun) == 2)
    assert len(outbox.claim("erp", 9, NOW_S, 60)) == 2


def test_a_second_cancellation_does_not_cut_the_stop_short() -> None:
    outbox = fill(*range(9))

    async def run() -> list[str]:
        held = HeldReceiver()
        task = asyncio.create_task(Deliverer({"erp": held}, outbox, lambda: NOW_S).run())
        await until(lambda: len(held.begun) == 2)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        held.may_go.set()
        await asyncio.wait({task})
        assert (task.cancelled(), held.is_closed) == (True, True)
        return held.received

    accepted = asyncio.run(asyncio.wait_for(run(), 20))
    rest = outbox.claim("erp", 20, NOW_S, 60)
    assert (len(accepted), len(rest)) == (2, 7)


async def test_a_receiver_that_cannot_be_closed_is_told_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Clinging(ScriptedReceiver):
        async def close(self) -> None:
            await asyncio.Event().wait()

    class Breaking(ScriptedReceiver):
        async def close(self) -> None:
            raise SystemExit(3)

    monkeypatch.setattr(receiver_module, "CLOSE_LIMIT_S", 0.05)
    receivers = {"clings": Clinging(), "breaks": Breaking(), "works": ScriptedReceiver()}
    async with running(Deliverer(receivers, MemoryOutbox(), lambda: NOW_S)):
        await until(lambda: receivers["works"].idle_times > 0)
    assert receivers["works"].is_closed
    assert sorted(caplog.messages) == [
        "sink breaks: its receiver cannot be closed: SystemExit",
        "sink clings: its receiver cannot be closed: not within 0.05 s",
    ]


async def test_a_queue_that_fails_is_counted_and_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outbox = FaultyOutbox("erp")
    outbox.add([make_delivery(1), make_delivery(1, sink="log")])
    erp, log = ScriptedReceiver(), ScriptedReceiver()
    deliverer = Deliverer({"erp": erp, "log": log}, outbox, lambda: NOW_S)
    async with running(deliverer):
        await until(lambda: bool(erp.received and log.received))
        failures = {task.name: task.failures for task in deliverer.tasks}
        assert failures == {"sink erp": 1, "sink log": 0}
    assert caplog.messages == ["task sink erp has failed; it is started again"]


async def test_what_waits_is_delivered_before_the_end() -> None:
    outbox, receiver = fill(*range(25)), ScriptedReceiver()
    deliverer = Deliverer({"erp": receiver}, outbox, lambda: NOW_S + 90)
    async with running(deliverer):
        assert await deliverer.drain(20) == 0
    assert len(receiver.received) == 25
    assert deliverer.describe_waiting() == []


def test_a_drain_tries_a_resting_sink_once_more() -> None:
    outbox, receiver = fill(1, 2), ScriptedReceiver(AWAY, AWAY)
    deliverer = Deliverer({"erp": receiver}, outbox, lambda: NOW_S)

    async def run() -> int:
        async with running(deliverer):
            await until(lambda: deliverer.statuses[0].failed_attempts == 2)
            outbox.add([make_delivery(3)])
            return await deliverer.drain(20)

    assert asyncio.run(asyncio.wait_for(run(), 20)) == 0
    assert sorted(receiver.received) == [f"pass-{number}-closed" for number in (1, 2, 3)]


def test_a_drain_ends_within_its_limit_and_names_what_waits() -> None:
    outbox = fill(1, 2)
    outbox.add([make_delivery(1, sink="gone")])
    receivers = {
        "erp": ScriptedReceiver(*[AWAY] * 9),
        "gone": ScriptedReceiver(ReceiverGone("410")),
    }
    deliverer = Deliverer(receivers, outbox, lambda: NOW_S)
    assert asyncio.run(asyncio.wait_for(deliverer.drain(0.2), 20)) == 3
    assert deliverer.describe_waiting() == [
        "sink erp: 2 events wait for the next run: away",
        "sink gone: 1 events wait for the next run: 410",
    ]


async def test_all_that_waited_for_a_receiver_that_was_gone_is_due_when_it_is_enabled() -> None:
    outbox, receiver = MemoryOutbox(), ScriptedReceiver(ReceiverGone("410"))
    outbox.add([make_delivery(number) for number in (1, 2)])
    deliverer = Deliverer({"erp": receiver}, outbox, lambda: NOW_S)
    async with running(deliverer):
        await until(lambda: deliverer.statuses[0].is_disabled)
        deliverer.enable()
        await until(lambda: not outbox.waiting("erp"))
    assert sorted(receiver.received) == ["pass-1-closed", "pass-2-closed"]


async def test_new_events_are_delivered_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_queue, "POLL_S", 60.0)
    outbox, receiver = MemoryOutbox(), ScriptedReceiver()
    deliverer = Deliverer({"erp": receiver}, outbox, lambda: NOW_S)
    async with running(deliverer):
        await until(lambda: receiver.idle_times > 0)
        outbox.add([make_delivery(1)])
        deliverer.wake()
        await until(lambda: bool(receiver.received))


def test_a_drain_gives_back_what_is_not_accepted_when_its_limit_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 0.1)
    outbox = fill(1, 2, 3)

    async def run() -> int:
        await Deliverer({"erp": HeldReceiver()}, outbox, lambda: NOW_S).drain(0.1)
        return len(outbox.claim("erp", 9, NOW_S, 60))

    assert asyncio.run(asyncio.wait_for(run(), 20)) == 3


def test_a_drain_counts_what_waits_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tired(ScriptedReceiver):
        async def send(self, delivery: Delivery) -> None:
            await super().send(delivery)
            if len(self.received) > 1:
                await asyncio.Event().wait()

    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 0.05)
    deliverer = Deliverer({"erp": Tired()}, fill(1, 2, 3), lambda: NOW_S)
    assert asyncio.run(asyncio.wait_for(deliverer.drain(0.3), 20)) == 2


def test_a_cancelled_drain_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 0.2)

    async def run() -> bool:
        held = HeldReceiver()
        deliverer = Deliverer({"erp": held}, fill(1, 2, 3), lambda: NOW_S)
        draining = asyncio.create_task(deliverer.drain(0.05))
        await until(lambda: len(held.begun) == 2)
        await asyncio.sleep(0.1)
        draining.cancel()
        await asyncio.wait({draining})
        return draining.cancelled()

    assert asyncio.run(asyncio.wait_for(run(), 20))


def test_a_stop_ends_within_the_time_that_is_told() -> None:
    assert deliverer_module.MAX_STOP_S == 3 + 2 * 10 + 5
