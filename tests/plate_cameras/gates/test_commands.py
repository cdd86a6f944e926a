"""People's commands: carried out once, in time, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from plate_cameras.configuration import Camera, Configuration, Store
from plate_cameras.gates import command_reader, conditions, gate_thread
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.gate_thread import GateThread
from plate_cameras.gates.known_lists import HoldOffs, KnownLists
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.gates.relay import NotSwitchedError
from plate_cameras.store.errors import ChangedMeanwhile, UnknownName
from plate_cameras.store.factory import open_store
from plate_cameras.store.openings.gate_commands import MAX_AGE_S, TAKEN_WITHIN_S, GateCommands
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.scope import EVERYTHING, Scope
from tests.plate_cameras.gates.known_vehicles import ScriptedRelay, make_gate, reached
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, make_event

CAMERAS = ("gate",)


@dataclass
class Clock:
    now_s: float = NOW_S

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    with closing(open_store(Store(), tmp_path)) as opened:
        opened.write([make_event("a")], [])
        yield opened


def openings_of(store: PassStore) -> list[tuple[str, str, str]]:
    page = store.openings.page(EVERYTHING).openings
    return [(one.outcome, one.reason, one.person) for one in page]


def follow_for(store: PassStore, relay: ScriptedRelay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the gates until nothing waits."""
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: relay)
    monkeypatch.setattr(command_reader, "POLL_S", 0.01)

    async def act() -> None:
        gates = GateThread(store, lambda _: None)
        configuration = Configuration((Camera("gate", "rtsp://gate"),), gates=(make_gate(),))
        await gates.commit(await gates.prepare(configuration))
        unsettled = {"requested", "begun"}
        await reached(lambda: not unsettled & {one[0] for one in openings_of(store)}, "an outcome")
        await gates.stop()

    asyncio.run(act())


@pytest.mark.parametrize(
    ("failure", "outcome", "asked"),
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
    asked: list[str],
) -> None:
    relay = ScriptedRelay([failure])
    store.commands.send("north", CAMERAS, "a", REQUESTER)
    follow_for(store, relay, monkeypatch)
    follow_for(store, relay, monkeypatch)
    assert openings_of(store) == [(*outcome, REQUESTER.who)]
    assert relay.switched == asked


def test_a_command_that_waits_too_long_for_its_turn_opens_nothing(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "MAX_COMMAND_WAIT_S", -1.0)
    relay = ScriptedRelay()
    store.commands.send("north", CAMERAS, "", REQUESTER)
    follow_for(store, relay, monkeypatch)
    assert openings_of(store) == [("refused", "the command came too late", REQUESTER.who)]
    assert relay.switched == []


def commands_of(store: PassStore, clock: Clock) -> GateCommands:
    return GateCommands(store.openings._database, clock, clock)


def test_each_command_is_taken_by_one_watcher(store: PassStore) -> None:
    commands = commands_of(store, Clock())
    sent = commands.send("north", CAMERAS, "a", REQUESTER)
    assert commands.take(["south"], "late") == []
    (taken,) = commands.take(["north", "south"], "late")
    assert (taken.id, taken.text, taken.camera) == (sent.id, "A123BC77", "gate")
    assert commands.take(["north"], "late") == []


def test_an_old_command_is_never_taken(store: PassStore) -> None:
    clock = Clock()
    commands = commands_of(store, clock)
    sent = commands.send("north", CAMERAS, "", REQUESTER)
    clock.now_s += TAKEN_WITHIN_S + 0.1
    assert commands.find(sent.id, EVERYTHING, "nobody").reason == "nobody"
    assert commands.take(["north"], "late") == []
    assert openings_of(store) == [("failed", "late", REQUESTER.who)]


def test_a_second_command_waits_for_the_first(store: PassStore) -> None:
    clock = Clock()
    commands = commands_of(store, clock)
    commands.send("north", CAMERAS, "", REQUESTER)
    with pytest.raises(ChangedMeanwhile, match="north"):
        commands.send("north", CAMERAS, "", REQUESTER)
    commands.send("south", CAMERAS, "", REQUESTER)
    clock.now_s += MAX_AGE_S + 0.1
    commands.send("north", CAMERAS, "", REQUESTER)


def test_a_command_is_in_the_audit_and_in_its_cameras_scope(store: PassStore) -> None:
    sent = store.commands.send("north", CAMERAS, "a", REQUESTER)
    with pytest.raises(UnknownName):
        store.commands.send("north", ("yard",), "a", REQUESTER)
    with pytest.raises(UnknownName):
        store.commands.find(sent.id, Scope(("west",), frozenset({"yard"})), "nobody")
    assert store.commands.find(sent.id, EVERYTHING, "nobody") == sent
    (entry, *_) = store.reader.searches(AuditQuery(), EVERYTHING)
    assert (entry.kind, entry.who, entry.query) == (
        "open gate",
        REQUESTER.who,
        {"gate": "north", "id": "a"},
    )


def test_the_remark_forgets_a_deleted_plate(store: PassStore) -> None:
    told = replace(REQUESTER, why="courier a 123 bc-77")
    sent = store.commands.send("north", CAMERAS, "", told)
    store.delete_plate("A123BC77", REQUESTER)
    assert store.commands.find(sent.id, EVERYTHING, "").remark == "courier deleted"


def test_a_gate_that_is_gone_refuses(store: PassStore) -> None:
    record: list[GateOpening] = []
    controller = GateController(
        KnownLists(store, HoldOffs()), OpeningRecorder(store.openings), HoldOffs(), record.append
    )
    controller.open(store.commands.send("north", CAMERAS, "", REQUESTER))
    assert [one.outcome for one in record] == ["refused"]
