"""Gates, passes and relays for the tests of gates."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.gates.relay import OpeningRequest, RelayError
from plate_cameras.passes import Observation, Pass, PassEvent
from plate_cameras.setting_parts import Gate
from plate_cameras.store.lists.list_lookup import ListEntry, LoadedList
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.samples import make_event

NOW_S = 1_800_000_002.0
"""Half a second after the last frame of the passes."""
TEXT = "A123BC77"


def make_gate(**changes: Any) -> Gate:
    """Return a gate that opens for the list `residents` of the camera `gate`."""
    defaults = {"type": "http", "url": "http://127.0.0.1/", "cameras": ("gate",), "open_s": 0.0}
    return Gate(**{"name": "north", "lists": ("residents",), **defaults, **changes})


def make_pass(text: str = TEXT, *, looks: int = 2, **changes: Any) -> Pass:
    """Return a pass whose text was read in the same way by some frames, half a second apart."""
    vehicle_pass = make_event("agreed", text=text).vehicle_pass
    (first,) = vehicle_pass.observations
    times_s = (vehicle_pass.first_seen_s + number / 2 for number in range(looks))
    observations = tuple(Observation(time_s, first.plate, weight=1.0) for time_s in times_s)
    changes = {"observations": observations, **changes}
    moment_s = changes.get("last_seen_s", vehicle_pass.last_seen_s)
    return replace(vehicle_pass, **{"last_moment_s": moment_s, **changes})


def make_pass_event(kind: Any = "agreed", text: str = TEXT, **changes: Any) -> PassEvent:
    return PassEvent(kind, make_pass(text, **changes))


def make_list(*entries: ListEntry, revision: int = 1) -> LoadedList:
    """Return the list `residents`; by default it has the vehicle of the tests."""
    exact = {entry.text: entry for entry in entries or (ListEntry(TEXT),)}
    fuzzy = tuple(entry for entry in entries if entry.edits)
    return LoadedList(1, "residents", revision, exact, fuzzy)


def make_opening(**changes: Any) -> GateOpening:
    """Return the record of an opening for the vehicle of the tests, of another pass."""
    defaults = {"gate": "north", "camera": "gate", "pass_id": "other", "text": TEXT, "list": ""}
    defaults |= {"entry_text": TEXT, "outcome": "opened", "reason": "", "requested_s": NOW_S}
    return GateOpening(**{**defaults, **changes})


def remember_opening(age_s: float = 0.0, **changes: Any) -> HoldOffs:
    """Return the stored record of an opening, by its age."""
    hold_offs = HoldOffs()
    hold_offs.add(make_opening(**changes), NOW_S - age_s)
    return hold_offs


@dataclass
class ScriptedRelay:
    """A relay that fails by a script, and then works. `None` in the script hangs.

    Attributes:
        script: Failures of the calls, in turn. A text is one after which the relay may have
            switched; an exception is raised as it is.
        needs_off: See `Relay`.
        calls: Its calls, `on` or `off`, in their order.
        is_closed: True if it was closed.
    """

    script: list[str | Exception | None] = field(default_factory=list)
    needs_off: bool = False
    calls: list[str] = field(default_factory=list)
    requests: list[OpeningRequest] = field(default_factory=list)
    is_closed: bool = False

    async def prepare(self) -> None: ...

    async def switch_on(self, request: OpeningRequest) -> None:
        self.calls.append("on")
        await self._follow()
        self.requests.append(request)

    async def switch_off(self) -> None:
        self.calls.append("off")
        await self._follow()

    async def close(self) -> None:
        self.is_closed = True

    async def _follow(self) -> None:
        failure = self.script.pop(0) if self.script else ""
        if failure is None:
            await asyncio.Event().wait()
        if isinstance(failure, Exception):
            raise failure
        if failure:
            raise RelayError(failure)
