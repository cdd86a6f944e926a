"""People's commands in the database: taken once, in time, and within their scope."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa

from plate_cameras.store.errors import ChangedMeanwhile, UnknownName
from plate_cameras.store.openings import gate_commands
from plate_cameras.store.openings.gate_commands import MAX_AGE_S, TAKEN_WITHIN_S, GateCommands
from plate_cameras.store.openings.gate_openings import OPENED
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.scope import EVERYTHING, Scope
from tests.plate_cameras.store.stored_events import REQUESTER, make_event, openings_of
from tests.virtual_time import Clock

CAMERAS = ("gate",)
ID = "0c0ffee0-0000-4000-8000-000000000000"


@pytest.fixture
def commands(store: PassStore, clock: Clock) -> GateCommands:
    return GateCommands(store.writer.database, clock, clock)


def test_each_command_is_taken_by_one_watcher(store: PassStore, commands: GateCommands) -> None:
    store.write([make_event("a")], [])
    command = commands.send("north", CAMERAS, "a", REQUESTER)
    assert commands.take(["south"], "late") == []
    (taken_command,) = commands.take(["north", "south"], "late")
    assert (taken_command.id, taken_command.text, taken_command.camera) == (
        command.id,
        "A123BC77",
        "gate",
    )
    assert commands.take(["north"], "late") == []


def test_a_watcher_notes_its_commands_before_and_not_those_that_another_one_took(
    commands: GateCommands,
) -> None:
    begun_ids, withdrawn_ids = list[str](), list[str]()
    first = commands.send("north", CAMERAS, "", REQUESTER)
    assert len(commands.take(["north"], "late", begun_ids.append, withdrawn_ids.append)) == 1
    assert (begun_ids, withdrawn_ids) == ([first.id], [])
    second = commands.send("south", CAMERAS, "", REQUESTER)

    def begin(id_: str) -> None:
        begun_ids.append(id_)
        assert len(commands.take(["south"], "late")) == 1  # as another watcher

    assert commands.take(["south"], "late", begin, withdrawn_ids.append) == []
    assert (begun_ids[1:], withdrawn_ids) == ([second.id], [second.id])


def test_an_old_command_is_never_taken(
    store: PassStore, commands: GateCommands, clock: Clock
) -> None:
    command = commands.send("north", CAMERAS, "", REQUESTER)
    clock.now_s += TAKEN_WITHIN_S + 0.1
    assert commands.find(command.id, EVERYTHING, "nobody").reason == "nobody"
    assert commands.take(["north"], "late") == []
    assert openings_of(store) == [("failed", "late", REQUESTER.who)]


def test_a_command_that_becomes_old_during_the_wait_for_the_database_is_not_taken(
    store: PassStore, commands: GateCommands, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, steady = store.writer.database, Clock()
    write = database.writing

    def wait_and_write() -> AbstractContextManager[sa.Connection]:
        steady.now_s += 2
        return write()

    commands.send("north", CAMERAS, "", REQUESTER)
    clock.now_s += MAX_AGE_S - 1
    monkeypatch.setattr(gate_commands, "steady_s", steady)
    monkeypatch.setattr(database, "writing", wait_and_write)
    assert commands.take(["north"], "late") == []
    assert openings_of(store) == [("failed", "late", REQUESTER.who)]


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_second_command_waits_for_the_first(
    commands: GateCommands, clock: Clock, is_taken: bool
) -> None:
    commands.send("north", CAMERAS, "", REQUESTER)
    commands.take(["north"] if is_taken else [], "late")
    with pytest.raises(ChangedMeanwhile, match="north"):
        commands.send("north", CAMERAS, "", REQUESTER)
    commands.send("south", CAMERAS, "", REQUESTER)
    clock.now_s += MAX_AGE_S + 0.1
    commands.send("north", CAMERAS, "", REQUESTER)


def test_a_command_that_comes_again_is_one_command(commands: GateCommands, clock: Clock) -> None:
    command = commands.send("north", CAMERAS, "", REQUESTER, ID)
    assert commands.send("north", CAMERAS, "", REQUESTER, ID) == command
    assert len(commands.take(["north"], "late")) == 1
    clock.now_s += MAX_AGE_S + 0.1
    assert commands.send("north", CAMERAS, "", REQUESTER, ID).outcome == "begun"
    assert commands.take(["north"], "late") == []
    with pytest.raises(ChangedMeanwhile, match="has the id"):
        commands.send("south", CAMERAS, "", REQUESTER, ID)


@pytest.mark.parametrize(
    ("choose", "count"),
    [
        pytest.param(lambda number: ("north", ""), 1, id="other ids"),
        pytest.param(lambda number: ("north", ID), 4, id="id"),
        pytest.param(lambda number: (f"gate {number}", ID), 1, id="gates"),
    ],
)
def test_commands_of_the_same_moment_are_one_command(
    store: PassStore,
    commands: GateCommands,
    monkeypatch: pytest.MonkeyPatch,
    choose: Callable[[int], tuple[str, str]],
    count: int,
) -> None:
    together, check = Barrier(4), gate_commands._check_alone

    def check_slowly(*arguments: Any) -> None:
        check(*arguments)
        time.sleep(0.1)

    monkeypatch.setattr(gate_commands, "_check_alone", check_slowly)

    def send(number: int) -> bool:
        gate, id_ = choose(number)
        together.wait()
        try:
            commands.send(gate, CAMERAS, "", REQUESTER, id_)
        except ChangedMeanwhile:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(send, range(4))) == count
    assert len(openings_of(store)) == 1


def test_a_command_is_in_the_audit_and_in_its_cameras_scope(store: PassStore) -> None:
    store.write([make_event("a")], [])
    command = store.commands.send("north", CAMERAS, "a", REQUESTER)
    with pytest.raises(UnknownName):
        store.commands.send("north", ("yard",), "a", REQUESTER)
    with pytest.raises(UnknownName):
        store.commands.find(command.id, Scope(("west",), frozenset({"yard"})), "nobody")
    assert store.commands.find(command.id, EVERYTHING, "nobody") == command
    (entry, *_) = store.reader.searches(AuditQuery(), EVERYTHING)
    assert (entry.kind, entry.who, entry.query) == (
        "open gate",
        REQUESTER.who,
        {"gate": "north", "id": "a"},
    )


def test_an_outcome_is_written_once_to_the_command_that_was_taken(
    store: PassStore, commands: GateCommands
) -> None:
    command = commands.send("north", CAMERAS, "", REQUESTER)
    opening = replace(command, outcome=OPENED, remark="")
    store.openings.write([opening])
    assert openings_of(store) == [("requested", "", REQUESTER.who)]
    commands.take(["north"], "late")
    store.openings.write([opening])
    store.openings.write([replace(opening, outcome="failed", reason="again")])
    assert openings_of(store) == [("opened", "", REQUESTER.who)]
    assert commands.find(command.id, EVERYTHING, "").remark == REQUESTER.why
