"""The last openings of all gates: for whom, and when."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.cameras.gate_settings import Gate
from orchestrator.cameras.store.gate_openings import GateOpening


class HoldOffs:
    """Remembers until when a gate stays open, and for which plates it does not open again.

    Openings by other processes, and those before a restart, come from the store.
    """

    def __init__(self) -> None:
        self._opened_s: dict[str, float] = {}
        self._plates: dict[tuple[str, str], float] = {}

    def add(self, openings: Iterable[GateOpening]) -> None:
        """Take over openings; each may come twice."""
        for one in openings:
            at_s = one.requested_s
            self._opened_s[one.gate] = max(at_s, self._opened_s.get(one.gate, at_s))
            for text in {one.text, one.entry_text} - {""}:
                key = one.gate, text
                self._plates[key] = max(at_s, self._plates.get(key, at_s))

    def forget(self, until_s: float) -> None:
        """Forget what was before a Unix time."""
        self._plates = {key: at_s for key, at_s in self._plates.items() if at_s >= until_s}

    def open_until_s(self, gate: Gate) -> float:
        """Return the Unix time until which a gate stays open."""
        return self._opened_s.get(gate.name, float("-inf")) + max(gate.open_s, gate.pulse_s)

    def opened_ago_s(self, gate: Gate, texts: Iterable[str], now_s: float) -> float | None:
        """Return how long ago a gate was opened for a plate; None if its hold-off is over."""
        times = [self._plates[gate.name, one] for one in texts if (gate.name, one) in self._plates]
        ago_s = now_s - max(times, default=float("-inf"))
        return ago_s if ago_s < gate.hold_off_s else None
