"""A simulated driveway for the tests of gates."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from plate_cameras.store.lists.list_lookup import ListEntry
from tests.plate_cameras.gates.gate_world import LISTED, GateWorld


@pytest.fixture
def world() -> Iterator[GateWorld]:
    """A simulation with a gate that opens for two seconds; its list has one vehicle."""
    with closing(GateWorld()) as made:
        made.put_entry(ListEntry(LISTED))
        made.wait(1.5)
        yield made
        assert made.faults == []
