"""The lists in memory: known vehicles get in while the database is away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from orchestrator.cameras.gates.hold_offs import HoldOffs
from orchestrator.cameras.store.errors import StoreError
from orchestrator.cameras.store.gate_openings import GateOpening
from orchestrator.cameras.store.list_lookup import ListLookup, LoadedList

LOG = logging.getLogger(__name__)
REFRESH_EVERY_S = 1.0
DAY_S = 86400.0
OVERLAP_S = 10.0
"""Records of other processes may reach the database so late."""


class ReadsOpenings(Protocol):
    """Reads what gates did. Its calls may block."""

    def since(self, since_s: float) -> tuple[GateOpening, ...]: ...


class ReadsLists(Protocol):
    """The part of the store that gates read. Its calls may block."""

    @property
    def openings(self) -> ReadsOpenings: ...
    def refresh(self, lookup: ListLookup) -> None: ...


class KnownLists:
    """Reads the lists and the last openings every second.

    Args:
        store: The store. Its calls run in a thread.
        hold_offs: Gets the openings of other processes, and those before a restart.
        clock: Returns the Unix time.

    Attributes:
        longest_hold_off_s: Openings of this time count; of a day, the most there is, at first.
        on_change: Called when a list has changed.
    """

    def __init__(
        self,
        store: ReadsLists,
        hold_offs: HoldOffs,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._hold_offs = hold_offs
        self._clock = clock
        self._lookup = ListLookup()
        self._read_at: float | None = None
        self._openings_until_s = float("-inf")
        self.longest_hold_off_s = DAY_S
        self.on_change: Callable[[], None] = lambda: None

    @property
    def age_s(self) -> float:
        """Time since the lists were read; infinite if they never were."""
        return float("inf") if self._read_at is None else time.monotonic() - self._read_at

    def named(self, names: Sequence[str]) -> list[LoadedList]:
        """Return the lists of some names."""
        return self._lookup.named(names)

    async def run(self) -> None:
        """Read until the task is cancelled."""
        while True:
            await self.read()
            await asyncio.sleep(REFRESH_EVERY_S)

    async def read(self) -> None:
        """Read what has changed. If the database is away, all stays as it was."""
        before, started = self._lookup.revisions, time.monotonic()
        now_s = self._clock()
        since_s = max(self._openings_until_s - OVERLAP_S, now_s - self.longest_hold_off_s)
        try:
            await asyncio.to_thread(self._store.refresh, self._lookup)
            openings = await asyncio.to_thread(self._store.openings.since, since_s)
        except StoreError as error:
            if self.age_s > 10 * REFRESH_EVERY_S:
                LOG.warning("the lists of the gates are %.0f s old: %s", self.age_s, error)
            return
        self._read_at, self._openings_until_s = started, now_s
        self._hold_offs.add(openings)
        self._hold_offs.forget(now_s - self.longest_hold_off_s)
        if self._lookup.revisions != before:
            self.on_change()
