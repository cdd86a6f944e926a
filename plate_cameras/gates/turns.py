"""The turn of a vehicle at a gate, the pulse that follows, and the parts that all gates share."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.gates.begun_openings import BegunOpenings
from plate_cameras.gates.conditions import Decision
from plate_cameras.gates.known_lists import HoldOffs
from plate_cameras.gates.relay import OpeningRequest
from plate_cameras.setting_parts import Gate
from plate_cameras.store.openings.gate_openings import OPENED, GateOpening

RECORD_FIELDS = tuple(attribute.name for attribute in fields(GateOpening))
"""Attributes of a request that its record has, too."""


@dataclass
class Pulse:
    """A pulse that this process has to end.

    Attributes:
        request: The vehicle for which the relay was asked.
        was_told: True if a record tells that it could not be ended.
    """

    request: OpeningRequest
    ends_s: float
    was_told: bool = False


@dataclass
class Turn:
    """The turn of one vehicle.

    Attributes:
        request: The vehicle as it was known at the last decision.
        id: Id of the record of the opening.
        is_begun: True while the store has an opening without an outcome.
        is_asked: True from the last request to the relay on.
        at_s: Steady time of that request.
        requested_s: Its Unix time.
    """

    request: OpeningRequest
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    is_begun: bool = False
    decision: Decision = field(default_factory=Decision)
    is_asked: bool = False
    at_s: float = 0.0
    requested_s: float = 0.0


@dataclass
class GateSurroundings:
    """The parts that the queues of all gates share.

    Attributes:
        hold_offs: The last openings.
        begun: The openings that have no outcome yet.
        decide: Decides whether a gate may open now for a request, and returns the request as it is
            now.
        is_news: Tells whether a reason was not yet recorded for a vehicle.
        record: Takes what the gate did.
        clock: A clock that nobody sets.
        unix_clock: Returns the Unix time.
    """

    hold_offs: HoldOffs
    begun: BegunOpenings
    decide: Callable[[Gate, OpeningRequest], tuple[Decision, OpeningRequest]]
    is_news: Callable[[OpeningRequest, str], bool]
    record: Callable[[GateOpening], None]
    clock: Callable[[], float] = steady_s
    unix_clock: Callable[[], float] = unix_s

    def make_opening(
        self, request: OpeningRequest, outcome: str, reason: str, **changes: Any
    ) -> GateOpening:
        """Return the record of what a gate did for a request."""
        is_measured = outcome == OPENED and request.readable_s is not None
        delay_s = max(self.clock() - (request.readable_s or 0.0), 0.0)
        vehicle = {name: value for name, value in vars(request).items() if name in RECORD_FIELDS}
        answer = {
            "outcome": outcome,
            "reason": reason,
            "requested_s": self.unix_clock(),
            "delay_s": delay_s if is_measured else None,
        }
        own = {"id": request.command_id} if request.command_id else {}
        return GateOpening(**{**vehicle, **answer, **changes, **own})
