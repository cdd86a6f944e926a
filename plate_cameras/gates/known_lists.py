"""The lists and the last openings in memory: known vehicles get in while the database is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TypeVar

from plate_cameras.background_tasks import make_note
from plate_cameras.clocks import steady_s
from plate_cameras.setting_parts import Gate
from plate_cameras.store.lists.list_lookup import ListLookup, LoadedList
from plate_cameras.store.openings.gate_openings import BEGUN, GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.unmet_conditions import find_missing_lists

LOG = logging.getLogger(__name__)
MAX_OPENINGS = 100_000
"""Number of known openings, which are distinguished from new ones: enough for months."""

Key = TypeVar("Key")


class HoldOffs:
    """Remembers until when a gate stays open, and for which plates it does not open again.

    All its times are steady, so that nobody moves them by setting a clock. Openings by other
    processes, and those before a restart, come from the store with their ages. Each counts from
    the moment at which it was heard of first.
    """

    def __init__(self) -> None:
        self._opening_ids: dict[str, None] = {}
        self._begun_ids: dict[str, None] = {}
        self._asked_passes: dict[tuple[str, str], None] = {}
        self._opened_s: dict[str, float] = {}
        self._opened_passes: dict[str, str] = {}
        self._plates: dict[tuple[str, str], float] = {}

    def begin(self, id_: str) -> None:
        """Note an opening of this process. It counts when its outcome is there."""
        _remember(self._begun_ids, id_)

    def withdraw(self, id_: str) -> None:
        """Note that an opening is of another process after all, such as a command that it took."""
        self._begun_ids.pop(id_, None)

    def is_known(self, id_: str) -> bool:
        """Tell whether an opening is one of this process, or was taken over."""
        return id_ in self._opening_ids or id_ in self._begun_ids

    def add(self, opening: GateOpening, at_s: float) -> None:
        """Take over an opening; it may come again, also with another time."""
        is_own = opening.outcome == BEGUN and opening.id in self._begun_ids
        if opening.id in self._opening_ids or is_own:
            return
        _remember(self._opening_ids, opening.id)
        if opening.pass_id:
            _remember(self._asked_passes, (opening.gate, opening.pass_id))
        if at_s >= self._opened_s.get(opening.gate, at_s):
            self._opened_s[opening.gate], self._opened_passes[opening.gate] = at_s, opening.pass_id
        for text in {opening.text, opening.entry_text} - {""}:
            key = opening.gate, text
            self._plates[key] = max(at_s, self._plates.get(key, at_s))

    def forget(self, until_s: float) -> None:
        """Forget the plates of openings before a time."""
        self._plates = {key: at_s for key, at_s in self._plates.items() if at_s >= until_s}

    def has_asked(self, gate: Gate, pass_id: str) -> bool:
        """Tell whether a gate was asked to open for a pass, and may have done so."""
        return (gate.name, pass_id) in self._asked_passes

    def open_until_s(self, gate: Gate) -> float:
        """Return the time until which a gate stays open."""
        return self._opened_s.get(gate.name, float("-inf")) + max(gate.open_s, gate.pulse_s)

    def is_open_for(self, gate: Gate, pass_id: str, at_s: float) -> bool:
        """Tell whether a gate was opened for a pass last, and is open at a time."""
        is_for_it = bool(pass_id) and self._opened_passes.get(gate.name) == pass_id
        return is_for_it and at_s < self.open_until_s(gate)

    def opened_ago_s(self, gate: Gate, texts: Iterable[str], now_s: float) -> float | None:
        """Return how long ago a gate was opened for a plate; None if its hold-off is over."""
        times = [
            self._plates[gate.name, text] for text in texts if (gate.name, text) in self._plates
        ]
        ago_s = now_s - max(times, default=float("-inf"))
        return ago_s if ago_s < gate.hold_off_s else None


def _remember(keys: dict[Key, None], key: Key) -> None:
    """Add a key, and drop the oldest if there are too many."""
    keys[key] = None
    if len(keys) > MAX_OPENINGS:
        del keys[next(iter(keys))]


REFRESH_EVERY_S = 1.0
DAY_S = 86400.0
OVERLAP_S = 10.0
"""Records of other processes may reach the database so late."""
MAX_SILENT_AGE_S = 10.0
"""If lists are older, the log says so."""


class KnownLists:
    """Reads the lists and the last openings every second.

    Args:
        store: The store. Its calls run in a thread.
        hold_offs: Gets the openings of other processes, and those before a restart.

    Attributes:
        gates: The gates that are warned of if one of their lists is missing.
        on_change: Called when a list has changed.
    """

    def __init__(
        self,
        store: PassStore,
        hold_offs: HoldOffs,
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self._store = store
        self._hold_offs = hold_offs
        self._clock = clock
        self._lookup = ListLookup()
        self._read_at_s = self._openings_read_at_s = -inf
        self._counted_s = DAY_S
        self.gates: Sequence[Gate] = ()
        self._missing = set[str]()
        self._note = make_note("gates use lists that cannot be read")
        self.on_change: Callable[[], None] = lambda: None

    @property
    def age_s(self) -> float:
        """Time since the lists were read; infinite if they never were."""
        return self._clock() - self._read_at_s

    def find(self, names: Sequence[str]) -> list[LoadedList]:
        return self._lookup.named(names)

    def count_openings(self, within_s: float) -> None:
        """Let openings up to an age count. The first query reads the openings of a day."""
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
            if self.age_s > MAX_SILENT_AGE_S:
                self._note(error)
            return
        self._note(None)
        now_s = self._clock()
        self._read_at_s = self._openings_read_at_s = started_s
        for opening, age_s in openings:
            self._hold_offs.add(opening, now_s - age_s)
        self._hold_offs.forget(now_s - self._counted_s)
        self._tell_missing()
        if self._lookup.revisions != before:
            self.on_change()

    def _tell_missing(self) -> None:
        """Log once which lists of gates are missing."""
        names = {loaded_list.name for loaded_list in self._lookup.all}
        missing = {
            f"gate {gate.name}: {condition.sentence}"
            for gate in self.gates
            for condition in find_missing_lists(gate, names)
        }
        for sentence in sorted(missing - self._missing):
            LOG.warning("%s", sentence)
        self._missing = missing
