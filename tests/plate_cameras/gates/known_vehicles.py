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
    known = {"type": "http", "url": "http://127.0.0.1/", "cameras": ("gate",), "open_s": 0.0}
    return Gate(**{"name": "north", "lists": ("residents",), **known, **changes})


def make_passed(text: str = TEXT, *, looks: int = 2, **changes: Any) -> Pass:
    """Return a pass whose text was read in the same way by some frames, half a second apart."""
    passed = make_event("agreed", text=text).vehicle_pass
    (first,) = passed.observations
    seen = tuple(
        Observation(passed.first_seen_s + at / 2, first.plate, weight=1.0) for at in range(looks)
    )
    changes = {"observations": seen, **changes}
    moment_s = changes.get("last_seen_s", passed.last_seen_s)
    return replace(passed, **{"last_moment_s": moment_s, **changes})


def make_pass_event(kind: Any = "agreed", text: str = TEXT, **changes: Any) -> PassEvent:
    return PassEvent(kind, make_passed(text, **changes))


def make_list(*entries: ListEntry, revision: int = 1) -> LoadedList:
    """Return the list `residents`; by default it has the vehicle of the tests."""
    known = entries or (ListEntry(TEXT),)
    exact = {one.text: one for one in known}
    return LoadedList(1, "residents", revision, exact, tuple(one for one in known if one.edits))


def make_opening(**changes: Any) -> GateOpening:
    """Return the record of an opening for the vehicle of the tests, of another pass."""
    known = {"gate": "north", "camera": "gate", "pass_id": "other", "text": TEXT, "list": ""}
    known |= {"entry_text": TEXT, "outcome": "opened", "reason": "", "requested_s": NOW_S}
    return GateOpening(**{**known, **changes})


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
        switched: Its answers, in their order.
        is_closed: True if it was closed.
    """

    script: list[str | Exception | None] = field(default_factory=list)
    needs_off: bool = False
    switched: list[str] = field(default_factory=list)
    requests: list[OpeningRequest] = field(default_factory=list)
    is_closed: bool = False

    async def prepare(self) -> None: ...

    async def switch_on(self, request: OpeningRequest) -> None:
        self.switched.append("on")
        await self._follow()
        self.requests.append(request)

    async def switch_off(self) -> None:
        self.switched.append("off")
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
