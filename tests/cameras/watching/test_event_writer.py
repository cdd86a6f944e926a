import asyncio
import contextlib

import pytest

from orchestrator.cameras.watching import event_writer
from orchestrator.cameras.watching.event_writer import EventWriter
from orchestrator.errors import ServerError
from tests.cameras.samples import make_event
from tests.cameras.watching.fakes import ListStore, no_sleep

EVENTS = [make_event(id_=f"pass-{number}") for number in range(5)]


def write_all(store: ListStore) -> EventWriter:
    writer = EventWriter(store, sleep=no_sleep)

    async def run() -> None:
        for event in EVENTS:
            await writer.put(event)
        task = asyncio.create_task(writer.run())
        await asyncio.wait_for(writer.drain(), 10)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())
    return writer


def test_events_that_wait_are_one_transaction() -> None:
    store = ListStore()
    writer = write_all(store)
    assert store.events == EVENTS
    assert store.sizes == [5]
    assert (writer.written, writer.waiting, writer.last_error) == (5, 0, "")


def test_a_transaction_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_writer, "BATCH", 2)
    store = ListStore()
    write_all(store)
    assert (store.events, store.sizes) == (EVENTS, [2, 2, 1])


def test_events_of_a_moment_share_a_transaction() -> None:
    """The next ones come in the pause after the first transaction."""
    store, others = ListStore(), [*EVENTS[1:]]

    async def run() -> None:
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
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(run(), 10))
    assert (store.events, store.sizes) == (EVENTS, [1, 4])


def test_events_wait_for_a_store_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    store = ListStore([ServerError("no database"), ServerError("no database")])
    write_all(store)
    assert store.events == EVENTS
    assert caplog.messages == ["passes cannot be kept: no database"] * 2
