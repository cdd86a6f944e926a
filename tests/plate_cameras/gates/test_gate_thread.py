"""The thread of the gates with a real store, and the metrics of gates."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from orchestrator.errors import SettingsError
from plate_cameras.background_tasks import FatalTaskError
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera, Configuration, Store
from plate_cameras.gates import gate_thread
from plate_cameras.gates.gate_thread import GateThread
from plate_cameras.gates.status import GateStatus
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.store.factory import open_store
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.watching.metrics import Snapshot, SnapshotCollector
from tests.plate_cameras.gates.known_vehicles import (
    TEXT,
    ScriptedRelay,
    make_gate,
    make_pass_event,
    reached,
)

CAMERAS = (Camera("gate", "rtsp://gate"),)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    with closing(open_store(Store(), tmp_path)) as opened:
        opened.lists.create("residents")
        opened.lists.put("residents", [ListEntry(TEXT)])
        yield opened


async def follow(gates: GateThread, configuration: Configuration) -> None:
    """Follow the gates of a configuration."""
    await gates.commit(await gates.prepare(configuration))


def fresh_event(kind: str = "agreed", age_s: float = 0.0, **changes: Any) -> PassEvent:
    """Return the event of a vehicle that is there now."""
    return make_pass_event(kind, last_moment_s=steady_s() - age_s, **changes)


async def test_a_gate_opens_beside_the_caller_and_is_recorded(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = ScriptedRelay()
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: relay)
    told: list[GateOpening] = []
    gates = GateThread(store, told.append)
    await follow(gates, Configuration(CAMERAS, gates=(make_gate(),)))
    gates.offer(fresh_event())
    await reached(lambda: told, "an opening")
    await gates.stop()
    assert [opening.outcome for opening in store.openings.page(EVERYTHING).openings] == ["opened"]
    assert relay.is_closed


async def test_a_relay_that_blocks_does_not_block_the_caller(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leave = threading.Event(), threading.Event()

    class BlockingRelay(ScriptedRelay):
        async def switch_on(self, request: object) -> None:
            entered.set()
            leave.wait(30)

    monkeypatch.setattr(gate_thread, "make_relay", lambda _: BlockingRelay())
    gates = GateThread(store, lambda _: None)
    await follow(gates, Configuration(CAMERAS, gates=(make_gate(),)))
    gates.offer(fresh_event())
    await reached(entered.is_set, "the relay's call")
    gates.offer(fresh_event())
    leave.set()
    await gates.stop()


async def test_wrong_settings_change_nothing(store: PassStore) -> None:
    names: list[list[str]] = []
    gates = GateThread(store, lambda _: None)
    await follow(gates, Configuration(CAMERAS, gates=(make_gate(),)))
    wrong = make_gate(name="south", options={"colour": "red"})
    with pytest.raises(SettingsError, match="colour"):
        await follow(gates, Configuration(CAMERAS, gates=(wrong,)))
    names.append([status.name for status in gates.statuses])
    await gates.stop()
    assert names == [["north"]]


async def test_a_vehicle_that_stands_there_before_the_first_gate_gets_in(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: ScriptedRelay())
    told: list[GateOpening] = []
    gates = GateThread(store, told.append)
    await follow(gates, Configuration(CAMERAS))
    gates.offer(fresh_event(id="left", age_s=30))
    gates.offer(fresh_event("closed", id="left"))
    gates.offer(fresh_event(age_s=30))
    await follow(gates, Configuration(CAMERAS, gates=(make_gate(),)))
    gates.notice(Sighting("gate", ("pass-1",), steady_s()))
    await reached(lambda: told and told[-1].outcome == "opened", "an opening")
    await gates.stop()
    assert {one.pass_id for one in told} == {"pass-1"}


async def test_an_event_that_cannot_be_used_is_seen_and_the_next_is_used(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: ScriptedRelay())
    told: list[GateOpening] = []
    failures: list[tuple[int, str]] = []
    gates = GateThread(store, told.append)
    await follow(gates, Configuration(CAMERAS, gates=(make_gate(zones=("entry",)),)))
    gates.offer(fresh_event(id="strange", zones=None))
    gates.offer(fresh_event())
    await reached(lambda: told, "an opening")
    status = gates.task_statuses[0]
    failures.append((status.failures, status.last_error))
    gates.offer(fresh_event("closed", id="strange"))
    await gates.stop()
    assert failures[0][0] == 1
    assert failures[0][1].startswith("TypeError")
    assert "could not use an event" in caplog.text


async def test_the_end_of_the_thread_is_told(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Ending(ScriptedRelay):
        async def switch_on(self, request: object) -> None:
            raise SystemExit(3)

    monkeypatch.setattr(gate_thread, "make_relay", lambda _: Ending())
    gates = GateThread(store, lambda _: None)
    waiting = asyncio.ensure_future(gates.wait_for_fatal())
    await follow(gates, Configuration(CAMERAS, gates=(make_gate(),)))
    assert not waiting.done()
    gates.offer(fresh_event())
    with pytest.raises(FatalTaskError, match="the gates have stopped: SystemExit"):
        await asyncio.wait_for(waiting, 30)
    gates.offer(fresh_event())  # nobody is there
    await reached(lambda: not gates.task_statuses[0].is_running, "the end of the thread")
    await gates.stop()
    assert "the gates have stopped" in caplog.text


async def test_a_wait_for_the_end_can_be_cancelled_and_repeated(store: PassStore) -> None:
    gates = GateThread(store, lambda _: None)
    for _ in range(2):
        waiting = asyncio.ensure_future(gates.wait_for_fatal())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_without_gates_no_thread_starts(store: PassStore) -> None:
    gates = GateThread(store, lambda _: None)
    await follow(gates, Configuration(CAMERAS))
    assert "gates" not in [one.name for one in threading.enumerate()]
    gates.offer(fresh_event())
    await gates.stop()


def test_metrics_tell_outcomes_and_delays() -> None:
    status = GateStatus("north")
    status.outcomes["opened"] = 2
    status.delays.add(0.4)
    status.delays.add(99.0)
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(lambda: Snapshot((), gates=(status,))))

    lines = generate_latest(registry).decode().splitlines()
    assert 'plates_gate_openings_total{gate="north",outcome="opened"} 2.0' in lines
    assert 'plates_gate_delay_s_bucket{gate="north",le="0.5"} 1.0' in lines
    assert 'plates_gate_delay_s_bucket{gate="north",le="+Inf"} 2.0' in lines
    assert 'plates_gate_up{gate="north"} 1.0' in lines
