"""Tells which states of cameras are fresh, though the clocks of watchers may differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.store.writing.live_tables import CameraState

TOLD_WITHIN_S = 15.0
"""Watchers write states every two seconds. An older state is not shown."""


@dataclass(frozen=True)
class _Seen:
    """The first sight of a state by the steady clock, and its largest possible age then."""

    updated_s: float
    moment_s: float
    age_s: float


class StateAges:
    """Counts the ages of states from when this process saw them change.

    Only the age of the first state is told by the Unix time.

    Args:
        wall: Returns the Unix time.
    """

    def __init__(
        self, clock: Callable[[], float] = steady_s, wall: Callable[[], float] = unix_s
    ) -> None:
        self._clock, self._wall = clock, wall
        self._seen: dict[str, _Seen] = {}
        self._lock = Lock()

    def fresh(self, states: Mapping[str, CameraState]) -> set[str]:
        now_s = self._clock()
        with self._lock:
            self._seen = {name: self._see(name, one, now_s) for name, one in states.items()}
            return {
                name
                for name, seen in self._seen.items()
                if seen.age_s + now_s - seen.moment_s <= TOLD_WITHIN_S
            }

    def _see(self, name: str, state: CameraState, now_s: float) -> _Seen:
        before = self._seen.get(name)
        if before is None:
            age_s = max(0.0, self._wall() - state.updated_s)
            return _Seen(state.updated_s, now_s, age_s)
        is_same = before.updated_s == state.updated_s
        return before if is_same else _Seen(state.updated_s, now_s, 0.0)
