"""The lists in memory: known vehicles get in while the database is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from plate_cameras.clocks import steady_s
from plate_cameras.gates.hold_offs import HoldOffs
from plate_cameras.store.errors import StoreError
from plate_cameras.store.lists.list_lookup import ListLookup, LoadedList
from plate_cameras.store.openings.gate_openings import GateOpening

LOG = logging.getLogger(__name__)
REFRESH_EVERY_S = 1.0
DAY_S = 86400.0
OVERLAP_S = 10.0
"""Records of other processes may reach the database so late."""
TOLD_S = 10.0
"""Lists of a greater age are told in the program's log."""


class ReadsOpenings(Protocol):
    """Reads what gates did. Its calls may block."""

    def recent(self, within_s: float) -> Sequence[tuple[GateOpening, float]]:
        """Return what counts as an opening, with its age in seconds."""


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

    Attributes:
        on_change: Called when a list has changed.
    """

    def __init__(
        self,
        store: ReadsLists,
        hold_offs: HoldOffs,
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self._store = store
        self._hold_offs = hold_offs
        self._clock = clock
        self._lookup = ListLookup()
        self._read_at_s = self._openings_read_at_s = -inf
        self._counted_s = DAY_S
        self._failure = ""
        self.on_change: Callable[[], None] = lambda: None

    @property
    def age_s(self) -> float:
        """Time since the lists were read; infinite if they never were."""
        return self._clock() - self._read_at_s

    def named(self, names: Sequence[str]) -> list[LoadedList]:
        return self._lookup.named(names)

    def count_openings(self, within_s: float) -> None:
        """Let openings up to an age count. The first look reads those of a day all the same."""
        if within_s > self._counted_s:
            self._openings_read_at_s = -inf  # the next look reads the older ones, too
        self._counted_s = within_s

    async def run(self) -> None:
        """Read until the task is cancelled."""
        while True:
            await self.read()
            await asyncio.sleep(REFRESH_EVERY_S)

    async def read(self) -> None:
        """Read what has changed. If the database is away, all stays as it was."""
        before, started_s = self._lookup.revisions, self._clock()
        within_s = min(self._counted_s, started_s - self._openings_read_at_s + OVERLAP_S)
        if self._openings_read_at_s == -inf:  # a pass may last longer than a hold-off
            within_s = DAY_S
        try:
            await asyncio.to_thread(self._store.refresh, self._lookup)
            openings = await asyncio.to_thread(self._store.openings.recent, within_s)
        except Exception as error:  # whatever it is, the lists were not read
            self._tell(error)
            return
        self._failure, now_s = "", self._clock()
        self._read_at_s = self._openings_read_at_s = started_s
        for opening, age_s in openings:
            self._hold_offs.add(opening, now_s - age_s)
        self._hold_offs.forget(now_s - self._counted_s)
        if self._lookup.revisions != before:
            self.on_change()

    def _tell(self, error: Exception) -> None:
        """Tell once of each failure that lasts; of a foreign error, with its traceback."""
        failure = f"{type(error).__name__}: {error}"
        if self.age_s > TOLD_S and failure != self._failure:
            self._failure = failure
            traceback = None if isinstance(error, StoreError) else error
            LOG.error("gates use lists that cannot be read: %s", failure, exc_info=traceback)
