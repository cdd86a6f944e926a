"""The parts that the gates of a process share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.gate_settings import Gate
from plate_cameras.gates.conditions import Decision
from plate_cameras.gates.hold_offs import HoldOffs
from plate_cameras.gates.relay import OpeningRequest
from plate_cameras.store.openings.gate_openings import GateOpening


@dataclass
class GateSurroundings:
    """The parts that the queues of all gates share.

    Attributes:
        hold_offs: The last openings.
        decide: Decides whether a gate may open now for a request, and returns the request as it is
            now.
        is_news: Tells whether a reason was not yet recorded for a vehicle.
        record: Takes what the gate did.
        clock: A clock that nobody sets.
        unix_clock: Returns the Unix time.
    """

    hold_offs: HoldOffs
    decide: Callable[[Gate, OpeningRequest], tuple[Decision, OpeningRequest]]
    is_news: Callable[[OpeningRequest, str], bool]
    record: Callable[[GateOpening], None]
    clock: Callable[[], float] = steady_s
    unix_clock: Callable[[], float] = unix_s
