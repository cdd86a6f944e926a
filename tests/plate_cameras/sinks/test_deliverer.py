"""Several sinks side by side: their starts, stops and last events."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from plate_cameras.sinks import receiver as receiver_module
from plate_cameras.sinks import sink_queue
from plate_cameras.sinks.deliverer import Deliverer
from plate_cameras.sinks.receiver import ReceiverGone
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox
from tests.plate_cameras.sinks.receivers import (
    AWAY,
    ActingReceiver,
    ScriptedReceiver,
    hang,
    ids,
    make_delivery,
    until_so,
)

NOW_S = 10.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a stop wait shortly for answers, and no sink look for events by itself."""
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 0.2)
    monkeypatch.setattr(sink_queue, "POLL_S", 60.0)


def fill(*numbers: int, sink: str = "erp") -> MemoryOutbox:
    return MemoryOutbox(make_delivery(number, sink=sink) for number in numbers)


def deliver(outbox: MemoryOutbox, **receivers: ScriptedReceiver) -> Deliverer:
    return Deliverer(receivers, outbox, lambda: NOW_S)


@asynccontextmanager
async def running(deliverer: Deliverer) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(deliverer.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_no_sink_waits_for_another_and_new_events_go_out_at_once() -> None:
    """One receiver hangs for ever; another one still gets all its events."""
    outbox = fill(1, sink="hangs")
    hangs, works = ActingReceiver(hang), ScriptedReceiver()
    deliverer = deliver(outbox, hangs=hangs, works=works)
    async with running(deliverer):
        await until_so(lambda: works.idle_times)
        for number in (1, 2):
            outbox.add([make_delivery(number, sink="works")])
            deliverer.wake()
            await until_so(lambda count=number: deliverer.statuses[1].delivered == count)
    assert hangs.is_closed
    assert works.is_closed
    assert [status.delivered for status in deliverer.statuses] == [0, 2]


@pytest.mark.parametrize("cancellations", [1, 2])
async def test_the_next_deliverer_gets_at_once_what_a_stopped_one_had_claimed(
    cancellations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second cancellation does not cut the stop short."""
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 20.0)
    outbox, next_receiver, may_go = fill(*range(9)), ScriptedReceiver(), asyncio.Event()
    receiver = ActingReceiver(may_go.wait, at_once=2)
    async with running(deliver(outbox, erp=receiver)) as task:
        await until_so(lambda: len(receiver.attempts) == 2)
        asyncio.get_running_loop().call_later(0.05, may_go.set)
        for _ in range(cancellations):
            task.cancel()
            await asyncio.sleep(0.01)
        await asyncio.wait({task}, timeout=20)
    assert (task.cancelled(), receiver.is_closed, receiver.received_ids) == (True, True, ids(0, 1))
    async with running(deliver(outbox, erp=next_receiver)):
        await until_so(lambda: not outbox.waiting("erp"))
    assert next_receiver.received_ids == ids(*range(2, 9))


async def test_a_stop_gives_back_what_a_receiver_does_not_answer() -> None:
    outbox, receiver = fill(1, 2), ActingReceiver(hang, at_once=2)
    async with running(deliver(outbox, erp=receiver)):
        await until_so(lambda: len(receiver.attempts) == 2)
    assert len(outbox.claim("erp", 9, NOW_S, 60)) == 2


async def test_a_receiver_that_cannot_be_closed_is_told_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def exit_() -> None:
        raise SystemExit(3)

    monkeypatch.setattr(receiver_module, "CLOSE_LIMIT_S", 0.05)
    receivers = {name: ScriptedReceiver() for name in ("clings", "breaks", "works")}
    monkeypatch.setattr(receivers["clings"], "close", hang)
    monkeypatch.setattr(receivers["breaks"], "close", exit_)
    async with running(deliver(MemoryOutbox(), **receivers)):
        await until_so(lambda: receivers["works"].idle_times > 0)
    assert receivers["works"].is_closed
    assert sorted(caplog.messages) == [
        "sink breaks: its receiver cannot be closed: SystemExit",
        "sink clings: its receiver cannot be closed: not within 0.05 s",
    ]


async def test_a_queue_that_fails_is_counted_and_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = [OSError("too many open files")]

    def fail(name: str) -> None:
        if name == "claim" and failures:
            raise failures.pop()

    outbox = MemoryOutbox([make_delivery(1), make_delivery(1, sink="log")], fail)
    receivers = {"erp": ScriptedReceiver(), "log": ScriptedReceiver()}
    deliverer = deliver(outbox, **receivers)
    async with running(deliverer):
        await until_so(lambda: all(receiver.received_ids for receiver in receivers.values()))
        counts = {task.name: task.failures for task in deliverer.tasks}
    (task_name,) = (name for name, count in counts.items() if count == 1)
    assert sorted(counts.values()) == [0, 1]
    assert caplog.messages == [f"task {task_name} has failed; it is started again"]


async def test_what_waits_is_delivered_before_the_end() -> None:
    outbox, receiver = fill(*range(25)), ScriptedReceiver()
    deliverer = Deliverer({"erp": receiver}, outbox, lambda: NOW_S + 90)
    async with running(deliverer):
        assert await deliverer.drain(20) == 0
    assert len(receiver.received_ids) == 25
    assert deliverer.describe_waiting() == []


async def test_a_drain_tries_a_resting_sink_once_more() -> None:
    outbox, receiver = fill(1, 2), ScriptedReceiver(AWAY, AWAY)
    deliverer = deliver(outbox, erp=receiver)
    async with running(deliverer):
        await until_so(lambda: deliverer.statuses[0].failed_attempts == 2)
        outbox.add([make_delivery(3)])
        assert await deliverer.drain(20) == 0
    assert sorted(receiver.received_ids) == ids(1, 2, 3)


async def test_a_drain_ends_within_its_limit_and_names_what_waits() -> None:
    outbox = fill(1, 2)
    outbox.add([make_delivery(1, sink="gone")])
    gone_receiver = ScriptedReceiver(ReceiverGone("410"))
    deliverer = deliver(outbox, erp=ScriptedReceiver(*[AWAY] * 9), gone=gone_receiver)
    assert await asyncio.wait_for(deliverer.drain(1.0), 20) == 3
    assert deliverer.describe_waiting() == [
        "sink erp: 2 events wait for the next run: away",
        "sink gone: 1 events wait for the next run: 410",
    ]


async def test_all_that_waited_for_a_receiver_that_was_gone_is_due_when_it_is_enabled() -> None:
    outbox, receiver = fill(1, 2), ScriptedReceiver(ReceiverGone("410"))
    deliverer = deliver(outbox, erp=receiver)
    async with running(deliverer):
        await until_so(lambda: deliverer.statuses[0].is_disabled)
        await asyncio.sleep(0.05)  # until it waits for its next look
        deliverer.enable()
        await until_so(lambda: not outbox.waiting("erp"))
    assert sorted(receiver.received_ids) == ids(1, 2)


async def test_a_drain_counts_and_gives_back_what_is_not_accepted_within_its_limit() -> None:
    async def answer_once() -> None:
        if len(receiver.attempts) > 1:
            await hang()

    outbox, receiver = fill(1, 2, 3), ActingReceiver(answer_once)
    assert await asyncio.wait_for(deliver(outbox, erp=receiver).drain(0.1), 20) == 2
    assert len(outbox.claim("erp", 9, NOW_S, 60)) == 2


async def test_a_drain_that_is_cancelled_after_its_limit_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sink_queue, "STOP_LIMIT_S", 1.0)
    receiver = ActingReceiver(hang, at_once=2)
    draining = asyncio.create_task(deliver(fill(1, 2, 3), erp=receiver).drain(0.5))
    await until_so(lambda: len(receiver.attempts) == 2)
    await asyncio.sleep(0.6)
    draining.cancel()
    await asyncio.wait({draining}, timeout=20)
    assert draining.cancelled()
