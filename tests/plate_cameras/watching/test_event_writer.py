import asyncio
import errno
import sqlite3
import threading

import pytest

from orchestrator.errors import ServerError
from plate_cameras.watching import event_writer
from plate_cameras.watching.event_writer import EventWriter
from tests.plate_cameras.samples import make_event
from tests.plate_cameras.watching.fakes import ListStore, no_sleep

EVENTS = [make_event(id_=f"pass-{number}") for number in range(5)]


async def put_and_drain(writer: EventWriter) -> None:
    for event in EVENTS:
        await writer.put(event)
    task = asyncio.create_task(writer.run())
    await asyncio.wait_for(writer.drain(), 10)
    task.cancel()
    await asyncio.wait({task})


async def test_events_that_wait_are_one_transaction() -> None:
    """Sinks that cannot be woken do not end the writer."""

    def fail() -> None:
        raise RuntimeError("no loop")

    store = ListStore()
    writer = EventWriter(store, on_written=fail, sleep=no_sleep)
    await put_and_drain(writer)
    assert (store.events, store.sizes) == (EVENTS, [5])
    assert (writer.written, writer.waiting, writer.last_error) == (5, 0, "")


async def test_events_of_a_moment_share_a_transaction() -> None:
    """The next events come in the pause after the first transaction."""
    store, others = ListStore(), [*EVENTS[1:]]

    async def put_others(_: float) -> None:
        while others:
            await writer.put(others.pop(0))
        await asyncio.sleep(0)

    writer = EventWriter(store, sleep=put_others)
    await writer.put(EVENTS[0])
    task = asyncio.create_task(writer.run())
    while len(store.events) < len(EVENTS):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert (store.events, store.sizes) == (EVENTS, [1, 4])


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EROFS, "Read-only file system"),
        sqlite3.OperationalError("disk I/O error"),
        RuntimeError("can't start new thread"),
        ValueError("embedded null byte"),
    ],
    ids=repr,
)
async def test_whatever_a_store_raises_events_are_written_later(error: Exception) -> None:
    store, notes = ListStore([error]), list[Exception | None]()
    writer = EventWriter(store, sleep=no_sleep, note=notes.append)
    await put_and_drain(writer)
    assert store.events == EVENTS
    assert notes == [error, None]


async def test_nobody_waits_for_a_writer_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_writer, "MAX_WAITING_EVENTS", 2)
    writer = EventWriter(ListStore(), sleep=no_sleep)
    task = asyncio.create_task(writer.run())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    await writer.put(EVENTS[0])
    await writer.put(EVENTS[1])
    await writer.drain()
    with pytest.raises(ServerError, match="the writer has ended"):
        await writer.put(EVENTS[2])
    assert writer.waiting == 3


async def test_an_event_on_its_way_to_the_store_waits_still() -> None:
    store = HangingStore()
    writer = EventWriter(store, sleep=no_sleep)
    task = asyncio.create_task(writer.run())
    await writer.put(EVENTS[0])
    await asyncio.to_thread(store.has_begun.wait, 10)
    assert writer.waiting == 1
    store.goes_on.set()
    await writer.drain()
    assert writer.waiting == 0
    task.cancel()


class HangingStore:
    """A store whose write waits until it is released."""

    def __init__(self) -> None:
        self.has_begun, self.goes_on = threading.Event(), threading.Event()

    def write(self, events: object, sinks: object) -> None:
        self.has_begun.set()
        self.goes_on.wait(10)
