"""A writer that fails at some passes, and what it is tested with."""

from collections.abc import Sequence
from typing import Any

import pytest

from plate_cameras.store.errors import StoreError, StoreUnavailable
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.pass_writer import PassWriter
from tests.plate_cameras.store.stored_events import make_event

ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
"""For what is the same with each database."""
ABC = [make_event(name) for name in "abc"]
AWAY = StoreUnavailable("the database is away")
UNCLEAR = [
    pytest.param(StoreError("permission denied"), id="unclear"),
    pytest.param(ValueError("year 99999 is out of range"), id="a fault of ours"),
]


class PickyWriter(PassWriter):
    """A writer that fails at some passes and large transactions; it records the ids of each."""

    def __init__(self, failing: Sequence[str], error: Exception, most: int = 99) -> None:
        super().__init__()
        self.failing, self.error, self.most = {*failing}, error, most
        self.tried: list[str] = []

    def write(self, connection: Any, events: Any, kept_s: float | None = None) -> None:
        ids = [event.vehicle_pass.id for event in events]
        self.tried.append("".join(ids))
        if len(ids) > self.most:
            raise StoreError("permission denied")
        if self.failing.intersection(ids):
            raise self.error
        super().write(connection, events, kept_s)


def replay_at(store: PassStore, now_s: float) -> int:
    store.writer.monotonic = lambda: now_s
    return store.replay_spool()
