"""A simulated driveway for the tests of gates."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from plate_cameras.store.lists.list_lookup import ListEntry
from tests.plate_cameras.gates.driveway import LISTED
from tests.plate_cameras.gates.gate_world import GateWorld


@pytest.fixture
def world() -> Iterator[GateWorld]:
    """A simulation with a gate that opens for two seconds; its list has one vehicle."""
    with closing(GateWorld()) as gate_world:
        gate_world.put_entry(ListEntry(LISTED))
        gate_world.wait(1.5)
        yield gate_world
        assert gate_world.faults == []
