"""The thread of the gates with a real store, and the metrics of gates."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from orchestrator.cameras.configuration import Camera, Configuration, Store
from orchestrator.cameras.gates import gate_thread
from orchestrator.cameras.gates.gate_thread import GateThread
from orchestrator.cameras.gates.status import GateStatus
from orchestrator.cameras.store.factory import open_store
from orchestrator.cameras.store.gate_openings import GateOpening
from orchestrator.cameras.store.list_lookup import ListEntry
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cameras.watching.metrics import Snapshot, SnapshotCollector
from orchestrator.errors import SettingsError
from tests.cameras.gates.known_vehicles import (
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


def fresh_event(**changes: object) -> object:
    """Return the event of a vehicle that is there now."""
    now_s = time.time()
    return make_pass_event(first_seen_s=now_s - 1, last_seen_s=now_s, **changes)


def test_a_gate_opens_beside_the_caller_and_is_recorded(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = ScriptedRelay()
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: relay)
    told: list[GateOpening] = []

    async def act() -> None:
        gates = GateThread(store, told.append)
        await gates.apply(Configuration(CAMERAS, gates=(make_gate(),)))
        gates.offer(fresh_event())  # type: ignore[arg-type]
        await reached(lambda: told, "an opening")
        await gates.stop()

    asyncio.run(act())
    assert [one.outcome for one in store.openings.page().openings] == ["opened"]
    assert relay.is_closed


def test_a_relay_that_blocks_does_not_block_the_caller(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leave = threading.Event(), threading.Event()

    class BlockingRelay(ScriptedRelay):
        async def switch_on(self, request: object) -> None:
            entered.set()
            leave.wait(30)

    monkeypatch.setattr(gate_thread, "make_relay", lambda _: BlockingRelay())

    async def act() -> None:
        gates = GateThread(store, lambda _: None)
        await gates.apply(Configuration(CAMERAS, gates=(make_gate(),)))
        gates.offer(fresh_event())  # type: ignore[arg-type]
        await reached(entered.is_set, "the relay's call")
        gates.offer(fresh_event())  # type: ignore[arg-type]
        leave.set()
        await gates.stop()

    asyncio.run(act())


def test_wrong_settings_change_nothing(store: PassStore) -> None:
    names: list[list[str]] = []

    async def act() -> None:
        gates = GateThread(store, lambda _: None)
        await gates.apply(Configuration(CAMERAS, gates=(make_gate(),)))
        wrong = make_gate(name="south", options={"colour": "red"})
        with pytest.raises(SettingsError, match="colour"):
            await gates.apply(Configuration(CAMERAS, gates=(wrong,)))
        names.append([one.name for one in gates.statuses])
        await gates.stop()

    asyncio.run(act())
    assert names == [["north"]]


def test_without_gates_no_thread_starts(store: PassStore) -> None:
    async def act() -> None:
        gates = GateThread(store, lambda _: None)
        await gates.apply(Configuration(CAMERAS))
        assert "gates" not in [one.name for one in threading.enumerate()]
        gates.offer(fresh_event())  # type: ignore[arg-type]
        await gates.stop()

    asyncio.run(act())


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
