"""The thread of the gates with a real store."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.background_tasks import FatalTaskError
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera, Configuration
from plate_cameras.gates import gate_thread
from plate_cameras.gates.gate_thread import GateThread
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.setting_parts import Gate
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay, make_gate, make_pass_event
from tests.plate_cameras.streams import wait

CAMERAS = (Camera("gate", "rtsp://gate"),)
Openings = list[GateOpening]


async def follow(gates: GateThread, *configured_gates: Gate) -> None:
    await gates.commit(await gates.prepare(Configuration(CAMERAS, gates=configured_gates)))


@asynccontextmanager
async def running(
    store: PassStore, *configured_gates: Gate
) -> AsyncIterator[tuple[GateThread, Openings]]:
    """Yield the running gates, and what they tell."""
    openings: Openings = []
    gates = GateThread(store, openings.append)
    await follow(gates, *configured_gates)
    yield gates, openings
    await gates.stop()
    await gates.stop()  # with nothing to stop


def fresh_event(kind: str = "agreed", age_s: float = 0.0, **changes: Any) -> PassEvent:
    """Return the event of a vehicle that is there now."""
    return make_pass_event(kind, last_moment_s=steady_s() - age_s, **changes)


async def test_a_gate_opens_beside_the_caller_and_is_recorded(
    store: PassStore, relay: ScriptedRelay
) -> None:
    async with running(store, make_gate()) as (gates, openings):
        gates.offer(fresh_event())
        await wait(lambda: openings, "an opening")
    assert [opening.outcome for opening in store.openings.page(EVERYTHING).openings] == ["opened"]
    assert relay.is_closed


async def test_a_relay_that_blocks_does_not_block_the_caller(
    store: PassStore, relay: ScriptedRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, may_go = threading.Event(), threading.Event()

    async def block(_: object) -> None:
        has_begun.set()
        may_go.wait(30)

    monkeypatch.setattr(relay, "switch_on", block)
    async with running(store, make_gate()) as (gates, _):
        gates.offer(fresh_event())
        await wait(has_begun.is_set, "the relay's call")
        gates.offer(fresh_event())
        may_go.set()


async def test_wrong_settings_change_nothing(store: PassStore) -> None:
    async with running(store, make_gate()) as (gates, _):
        with pytest.raises(SettingsError, match="colour"):
            await follow(gates, make_gate(name="south", options={"colour": "red"}))
        assert [status.name for status in gates.statuses] == ["north"]


async def test_a_relay_whose_secret_was_changed_in_its_file_is_made_again(
    store: PassStore, relay: ScriptedRelay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = list[str]()

    def make_relay(gate: Gate) -> ScriptedRelay:
        made.append(gate.name)
        return relay

    monkeypatch.setattr(gate_thread, "make_relay", make_relay)
    file = tmp_path / "password"
    file.write_text("first")
    configured_gates = make_gate(options={"password": f"file:{file}"}), make_gate(name="south")
    async with running(store, *configured_gates) as (gates, _):
        await follow(gates, *configured_gates)
        assert made == ["north", "south"]
        file.write_text("second")
        await follow(gates, *configured_gates)
        assert made == ["north", "south", "north"]


@pytest.mark.usefixtures("relay")
async def test_a_vehicle_that_stands_there_before_the_first_gate_gets_in(store: PassStore) -> None:
    async with running(store) as (gates, openings):
        assert "gates" not in [thread.name for thread in threading.enumerate()]  # without a gate
        gates.offer(fresh_event(id="left", age_s=30))
        gates.offer(fresh_event("closed", id="left"))
        gates.offer(fresh_event(age_s=30))
        await follow(gates, make_gate())
        gates.notice(Sighting("gate", ("pass-1",), steady_s()))
        await wait(lambda: openings and openings[-1].outcome == "opened", "an opening")
    assert {opening.pass_id for opening in openings} == {"pass-1"}


@pytest.mark.usefixtures("relay")
async def test_an_event_that_cannot_be_used_is_seen_and_the_next_is_used(
    store: PassStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(store, make_gate(zones=("entry",))) as (gates, openings):
        gates.offer(fresh_event(id="strange", zones=None))
        gates.offer(fresh_event())
        await wait(lambda: openings, "an opening")
        status = gates.task_statuses[0]
        gates.offer(fresh_event("closed", id="strange"))
    assert status.failures == 1
    assert status.last_error.startswith("TypeError")
    assert "could not use an event" in caplog.text


async def test_the_end_of_the_thread_is_told(
    store: PassStore,
    relay: ScriptedRelay,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def end(_: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(relay, "switch_on", end)
    async with running(store) as (gates, _):
        first_wait = asyncio.ensure_future(gates.wait_for_fatal())
        second_wait = asyncio.ensure_future(gates.wait_for_fatal())
        await asyncio.sleep(0)
        first_wait.cancel()
        await follow(gates, make_gate())
        assert not second_wait.done()
        gates.offer(fresh_event())
        with pytest.raises(FatalTaskError, match="the gates have stopped: SystemExit"):
            await asyncio.wait_for(second_wait, 30)
        gates.offer(fresh_event())  # nobody is there
        await wait(lambda: not gates.task_statuses[0].is_running, "the end of the thread")
    assert first_wait.cancelled()
    assert "the gates have stopped" in caplog.text
