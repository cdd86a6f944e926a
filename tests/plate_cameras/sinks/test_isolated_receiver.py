"""Receivers that block, hang or end their thread do not delay others."""

import asyncio
import socket
import threading
import time
from typing import Any

import pytest

from plate_cameras.configuration import Sink
from plate_cameras.sinks import receiver as receiver_module
from plate_cameras.sinks import webhook
from plate_cameras.sinks.isolated_receiver import MAX_THREADS, IsolatedReceiver
from plate_cameras.sinks.receiver import DeliveryError, ReceiverGone
from plate_cameras.sinks.registry import make_receiver
from plate_cameras.sinks.sink_queue import SinkQueue
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox
from tests.plate_cameras.sinks.receivers import ActingReceiver, ScriptedReceiver, make_delivery
from tests.waiting import until

DELIVERY = make_delivery(1)


def thread_names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def send(receiver: IsolatedReceiver) -> None:
    async def run() -> None:
        try:
            await receiver.send(DELIVERY)
        finally:
            await receiver.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_events_and_errors_go_through_and_the_thread_ends_with_the_receiver() -> None:
    receiver = ScriptedReceiver()
    send(IsolatedReceiver("once", receiver))
    assert (receiver.received_ids, receiver.is_closed) == ([DELIVERY.id], True)
    until(lambda: "receiver once" not in thread_names(), "an end")
    with pytest.raises(ReceiverGone, match="410"):
        send(IsolatedReceiver("erp", ScriptedReceiver(ReceiverGone("410"))))


def test_what_a_receiver_has_left_running_ends_with_it() -> None:
    ends: list[bool] = []

    async def leave_a_task() -> None:
        async def wait() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ends.append(True)

        leave_a_task.task = asyncio.create_task(wait())  # type: ignore[attr-defined]
        await asyncio.sleep(0)

    send(IsolatedReceiver("leaves", ActingReceiver(leave_a_task)))
    until(lambda: ends, "the end of the task")


@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt(), GeneratorExit()])
def test_an_error_that_ends_processes_is_a_failed_attempt(error: BaseException) -> None:
    receiver = ScriptedReceiver(error)
    isolated_receiver = IsolatedReceiver("erp", receiver)
    with pytest.raises(DeliveryError, match=type(error).__name__):
        send(isolated_receiver)
    send(isolated_receiver)
    assert receiver.received_ids == [DELIVERY.id]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_task_of_a_receiver_that_wants_to_end_the_process_does_not() -> None:
    async def exit_() -> None:
        raise SystemExit(2)

    async def start_one() -> None:
        task = asyncio.create_task(exit_())
        await asyncio.wait({task})
        task.exception()

    receiver = ActingReceiver(start_one)
    send(IsolatedReceiver("erp", receiver))
    assert receiver.received_ids == [DELIVERY.id]


async def test_a_receiver_that_blocks_stops_neither_the_loop_nor_another_sink(
    release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("SEND_LIMIT_S", "CLOSE_LIMIT_S"):
        monkeypatch.setattr(receiver_module, limit, 0.2)

    async def block() -> None:
        release.wait(60)

    receiver = IsolatedReceiver("erp", ActingReceiver(block))
    queue = SinkQueue("erp", receiver, MemoryOutbox([DELIVERY]), lambda: 5.0)
    began_s = time.monotonic()
    delivering = asyncio.create_task(queue.deliver_due())
    await asyncio.sleep(0.01)
    assert time.monotonic() - began_s < 10
    await delivering
    await queue.close()
    assert not release.is_set()
    assert queue.status.last_error == "no answer within 0.2 s"


async def test_name_servers_that_hang_use_nobody_elses_threads(
    release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.05)

    def hang(*_: object, **__: object) -> Any:
        release.wait(60)
        raise socket.gaierror("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    receiver = make_receiver(Sink("hangs", "webhook", "http://erp.example/"), (), {})

    async def attempt() -> str:
        try:
            await receiver.send(DELIVERY)
        except DeliveryError as error:
            return str(error)
        return ""

    tries = [await attempt() for _ in range(2 * MAX_THREADS)]
    other = await asyncio.to_thread(lambda: "free")
    await receiver.close()
    assert {*tries}, other == ({"no answer within 0.05 s"}, "free")
    assert thread_names().count("receiver hangs") <= MAX_THREADS + 1
