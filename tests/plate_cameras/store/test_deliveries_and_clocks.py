"""Deliveries while the wall clock is set: only the store's clock counts."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plate_cameras.configuration import Store
from plate_cameras.sinks.claims import GIVE_UP_S, MIN_ATTEMPTS
from plate_cameras.sinks.sink_queue import LEASE_S, SinkQueue
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.store_clock import StoreClock
from tests.plate_cameras.sinks.receivers import AWAY, ScriptedReceiver
from tests.plate_cameras.store.stored_events import NOW_S, WEBHOOK, make_event

HOUR_S = 3600.0


class Machine:
    """A wall clock that can be set, and a steady one."""

    def __init__(self) -> None:
        self.wall_s, self.steady_s = NOW_S, 500.0

    def pass_time(self, seconds: float) -> None:
        self.wall_s += seconds
        self.steady_s += seconds

    @contextmanager
    def store(self, folder: Path) -> Iterator[PassStore]:
        settings = Store(url=f"sqlite:///{folder / 'passes.db'}", blur="none")
        store = open_store(
            settings,
            folder,
            clock=lambda: self.wall_s,
            kept=lambda database: StoreClock(
                database, wall=lambda: self.wall_s, steady=lambda: self.steady_s, boot="one"
            ),
        )
        try:
            yield store
        finally:
            store.close()


def deliver(store: PassStore, receiver: ScriptedReceiver) -> SinkQueue:
    queue = SinkQueue("webhook", receiver, store.outbox, store.clock.now_s)
    asyncio.run(queue.deliver_due())
    return queue


@pytest.mark.parametrize("step_s", [-40 * 24 * HOUR_S, -HOUR_S, HOUR_S, 40 * 24 * HOUR_S])
def test_events_are_delivered_at_once_after_a_step(step_s: float, tmp_path: Path) -> None:
    machine = Machine()
    with machine.store(tmp_path) as store:
        store.write([make_event("before")], [WEBHOOK])
        machine.wall_s += step_s
        store.write([make_event("after")], [WEBHOOK])
        deliver(store, receiver := ScriptedReceiver())
    assert receiver.received == ["before_closed_0", "after_closed_0"]


@pytest.mark.parametrize("step_s", [-40 * 24 * HOUR_S, -HOUR_S, HOUR_S, 40 * 24 * HOUR_S])
def test_a_pause_and_a_lease_last_as_long_as_without_a_step(step_s: float, tmp_path: Path) -> None:
    machine = Machine()
    with machine.store(tmp_path) as store:
        store.write([make_event("claimed"), make_event("failed")], [WEBHOOK])
        receiver = ScriptedReceiver(AWAY)
        store.outbox.claim("webhook", 1, store.clock.now_s(), LEASE_S)
        deliver(store, receiver)
        machine.wall_s += step_s
        deliver(store, receiver)
        assert receiver.received == []
        machine.pass_time(5)
        deliver(store, receiver)
        assert receiver.received == ["failed_closed_0"]
        machine.pass_time(LEASE_S - 5)
        deliver(store, receiver)
        assert receiver.received == ["failed_closed_0", "claimed_closed_0"]


def test_a_step_makes_no_event_old_enough_to_be_given_up(tmp_path: Path) -> None:
    machine = Machine()
    with machine.store(tmp_path) as store:
        store.write([make_event("tried")], [WEBHOOK])
        for _ in range(MIN_ATTEMPTS):
            assert store.outbox.claim("webhook", 1, store.clock.now_s(), 0)
        machine.wall_s += 40 * 24 * HOUR_S
        assert deliver(store, ScriptedReceiver(AWAY)).status.abandoned == 0
        machine.wall_s -= 80 * 24 * HOUR_S
        machine.pass_time(GIVE_UP_S + 1)
        assert deliver(store, ScriptedReceiver(AWAY)).status.abandoned == 1


def test_an_event_that_is_replayed_is_young_again(tmp_path: Path) -> None:
    machine = Machine()
    with machine.store(tmp_path) as store:
        store.write([make_event("a")], [WEBHOOK])
        machine.pass_time(2 * GIVE_UP_S)
        assert store.outbox.replay("webhook", 0, store.clock.now_s()) == 1
        (again,) = store.outbox.claim("webhook", 1, store.clock.now_s(), 60)
    assert again.created_s == NOW_S + 2 * GIVE_UP_S
