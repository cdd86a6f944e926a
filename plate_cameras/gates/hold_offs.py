"""The last openings of all gates: for whom, and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from plate_cameras.setting_parts import Gate
from plate_cameras.store.openings.gate_openings import GateOpening

MAX_KNOWN = 100_000
"""Openings that are told apart from new ones: those of months."""

Key = TypeVar("Key")


class HoldOffs:
    """Remembers until when a gate stays open, and for which plates it does not open again.

    All its times are steady, so that nobody moves them by setting a clock. Openings by other
    processes, and those before a restart, come from the store with their ages. Each counts from
    the moment at which it was heard of first.
    """

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._asked: dict[tuple[str, str], None] = {}
        self._opened_s: dict[str, float] = {}
        self._plates: dict[tuple[str, str], float] = {}

    def add(self, opening: GateOpening, at_s: float) -> None:
        """Take over an opening; it may come again, also with another time."""
        if opening.id in self._known:
            return
        _remember(self._known, opening.id)
        if opening.pass_id:
            _remember(self._asked, (opening.gate, opening.pass_id))
        self._opened_s[opening.gate] = max(at_s, self._opened_s.get(opening.gate, at_s))
        for text in {opening.text, opening.entry_text} - {""}:
            key = opening.gate, text
            self._plates[key] = max(at_s, self._plates.get(key, at_s))

    def forget(self, until_s: float) -> None:
        """Forget the plates of openings before a time."""
        self._plates = {key: at_s for key, at_s in self._plates.items() if at_s >= until_s}

    def has_asked(self, gate: Gate, pass_id: str) -> bool:
        """Tell whether a gate was asked to open for a pass, and may have done so."""
        return (gate.name, pass_id) in self._asked

    def open_until_s(self, gate: Gate) -> float:
        """Return the time until which a gate stays open."""
        return self._opened_s.get(gate.name, float("-inf")) + max(gate.open_s, gate.pulse_s)

    def opened_ago_s(self, gate: Gate, texts: Iterable[str], now_s: float) -> float | None:
        """Return how long ago a gate was opened for a plate; None if its hold-off is over."""
        times = [
            self._plates[gate.name, text] for text in texts if (gate.name, text) in self._plates
        ]
        ago_s = now_s - max(times, default=float("-inf"))
        return ago_s if ago_s < gate.hold_off_s else None


def _remember(known: dict[Key, None], key: Key) -> None:
    """Add a key, and drop the oldest if there are too many."""
    known[key] = None
    if len(known) > MAX_KNOWN:
        del known[next(iter(known))]
