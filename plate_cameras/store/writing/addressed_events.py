"""Events with the names of their sinks: what is written to the database or to the spool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plate_cameras.configuration import Sink
from plate_cameras.passes import PassEvent


@dataclass(frozen=True)
class AddressedEvent:
    """An event on its way into the database.

    Attributes:
        stored_s: Unix time at which the store accepted it.
        run: The run of the process that accepted it; empty if it is not known.
    """

    event: PassEvent
    sinks: tuple[str, ...]
    stored_s: float
    run: str = ""

    @property
    def id(self) -> str:
        """Id of its deliveries, the same when the event is written again.

        A pass has one event `agreed` and one `closed`. Each `updated` comes from another frame, so
        its time numbers it. The Standard Webhooks specification forbids full stops in ids.
        """
        passed = self.event.passed
        sequence = round(passed.last_seen_s * 1000) if self.event.kind == "updated" else 0
        return f"{passed.id}_{self.event.kind}_{sequence}".replace(".", "-")

    @property
    def time_s(self) -> float:
        """Unix time of the pass. The time in a file counts from its start, so it is of no use."""
        passed = self.event.passed
        return self.stored_s if passed.clock == "file" else passed.first_seen_s


def address(
    events: Sequence[PassEvent], sinks: Sequence[Sink], now_s: float, run: str = ""
) -> list[AddressedEvent]:
    """Return events with the sinks that want them."""
    return [AddressedEvent(event, _names(event, sinks), now_s, run) for event in events]


def _names(event: PassEvent, sinks: Sequence[Sink]) -> tuple[str, ...]:
    camera = event.passed.camera
    return tuple(
        sink.name
        for sink in sinks
        if event.kind in sink.events and (not sink.cameras or camera in sink.cameras)
    )
