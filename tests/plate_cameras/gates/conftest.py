"""A simulated driveway for the tests of gates, and a store and a relay for their threads."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from plate_cameras.configuration import Store
from plate_cameras.gates import gate_thread
from plate_cameras.store.factory import open_store
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.gates.driveway import LISTED
from tests.plate_cameras.gates.gate_world import GateWorld
from tests.plate_cameras.gates.known_vehicles import TEXT, ScriptedRelay


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassStore]:
    """A store whose list `residents` has the vehicle of the tests."""
    with closing(open_store(Store(), tmp_path)) as pass_store:
        pass_store.lists.create("residents")
        pass_store.lists.put("residents", [ListEntry(TEXT)])
        yield pass_store


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> ScriptedRelay:
    """The relay of every gate, whatever watcher asks."""
    scripted_relay = ScriptedRelay()
    monkeypatch.setattr(gate_thread, "make_relay", lambda _: scripted_relay)
    return scripted_relay


@pytest.fixture
def world() -> Iterator[GateWorld]:
    """A simulation with a gate that opens for two seconds; its list has one vehicle."""
    with closing(GateWorld()) as gate_world:
        gate_world.put_entry(ListEntry(LISTED))
        gate_world.wait(1.5)
        yield gate_world
        assert gate_world.faults == []
