"""People's commands: carried out once, in time, or not at all."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera, Configuration, Store
from plate_cameras.gates import conditions, gate_thread
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.gate_thread import GateThread
from plate_cameras.gates.known_lists import HoldOffs, KnownLists
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.gates.relay import NotSwitchedError
from plate_cameras.store.factory import open_store
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay, make_gate
from tests.plate_cameras.store.stored_events import REQUESTER, make_event, openings_of
from tests.plate_cameras.streams import wait

CAMERAS = ("gate",)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    with closing(open_store(Store(), tmp_path)) as pass_store:
        pass_store.write([make_event("a")], [])
        yield pass_store


def outcomes_of(store: PassStore) -> list[str]:
    return [outcome for outcome, _, _ in openings_of(store)]


def follow_for(store: PassStore, relay: ScriptedRelay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the gates until nothing waits."""
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: relay)
    monkeypatch.setattr(gate_thread, "POLL_S", 0.01)

    async def act() -> None:
        gates = GateThread(store, lambda _: None)
        configuration = Configuration((Camera("gate", "rtsp://gate"),), gates=(make_gate(),))
        await gates.commit(await gates.prepare(configuration))
        await wait(lambda: {"requested", "begun"}.isdisjoint(outcomes_of(store)), "an outcome")
        await gates.stop()

    asyncio.run(act())


@pytest.mark.parametrize(
    ("failure", "outcome", "calls"),
    [
        pytest.param("", ("opened", ""), ["on"], id="opened"),
        pytest.param("lost", ("unknown", "lost"), ["on"], id="never asked again without an answer"),
        pytest.param(NotSwitchedError("away"), ("opened", ""), ["on", "on"], id="asked again"),
    ],
)
def test_a_command_is_carried_out_once(
    store: PassStore,
    monkeypatch: pytest.MonkeyPatch,
    failure: str | Exception,
    outcome: tuple[str, str],
    calls: list[str],
) -> None:
    relay = ScriptedRelay([failure])
    store.commands.send("north", CAMERAS, "a", REQUESTER)
    follow_for(store, relay, monkeypatch)
    follow_for(store, relay, monkeypatch)
    assert openings_of(store) == [(*outcome, REQUESTER.who)]
    assert relay.calls == calls


def test_a_command_that_is_being_taken_at_the_end_has_an_outcome(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, is_taken, may_end = store.commands.take, threading.Event(), threading.Event()

    def take_slowly(gates: Collection[str], late: str, *notes: Any) -> list[GateOpening]:
        openings = take(gates, late, *notes)
        is_taken.set()
        assert may_end.wait(20)
        return openings

    async def act() -> None:
        gates = GateThread(store, lambda _: None)
        configuration = Configuration((Camera("gate", "rtsp://gate"),), gates=(make_gate(),))
        await gates.commit(await gates.prepare(configuration))
        await wait(is_taken.is_set, "a command that is taken")
        stopping = asyncio.create_task(gates.stop())
        await asyncio.sleep(0.1)
        may_end.set()
        await stopping

    store.commands.send("north", CAMERAS, "a", REQUESTER)
    monkeypatch.setattr(store.commands, "take", take_slowly)
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: ScriptedRelay())
    asyncio.run(act())
    assert {"requested", "begun"}.isdisjoint(outcomes_of(store))


@pytest.mark.parametrize(
    ("module", "limit", "limit_s"),
    [
        pytest.param(conditions, "MAX_COMMAND_WAIT_S", -1.0, id="waits too long for its turn"),
        pytest.param(gate_thread, "TAKEN_WITHIN_S", gate_thread.MAX_AGE_S, id="slow database"),
    ],
)
def test_a_command_that_comes_too_late_opens_nothing(
    store: PassStore,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    limit: str,
    limit_s: float,
) -> None:
    monkeypatch.setattr(module, limit, limit_s)
    relay = ScriptedRelay()
    store.commands.send("north", CAMERAS, "", REQUESTER)
    follow_for(store, relay, monkeypatch)
    assert openings_of(store) == [("refused", "the command came too late", REQUESTER.who)]
    assert relay.calls == []


def test_a_gate_that_is_gone_refuses(store: PassStore) -> None:
    record: list[GateOpening] = []
    controller = GateController(
        KnownLists(store, HoldOffs()), OpeningRecorder(store.openings), HoldOffs(), record.append
    )
    controller.open(store.commands.send("north", CAMERAS, "", REQUESTER), steady_s())
    assert [opening.outcome for opening in record] == ["refused"]
