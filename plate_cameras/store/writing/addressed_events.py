"""Events with the names of their sinks, and their form in the files of the spool.

A file holds one line of JSON, which tells the lengths of the pictures, and then the pictures.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache

from pydantic import TypeAdapter, ValidationError

from plate_cameras.configuration import Sink
from plate_cameras.passes import LeaseClaim, Pass, PassEvent
from plate_cameras.setting_parts import is_watched
from plate_cameras.store.errors import RejectedValue


@dataclass(frozen=True)
class SinkCondition:
    """The conditions of a sink that need the database, see `Sink`."""

    lists: tuple[str, ...] = ()
    unknown: bool = False
    hold_off_s: float = 0.0

    def admits(self, text: str, lists: Collection[str]) -> bool:
        """Tell whether a sink wants a plate.

        Args:
            text: Its text; empty if the plate could not be read, and is neither known nor unknown.
            lists: Names of the lists that it is on.
        """
        if not (self.lists or self.unknown):
            return True
        return not {*self.lists}.isdisjoint(lists) or (self.unknown and bool(text) and not lists)


@dataclass(frozen=True)
class AddressedEvent:
    """An event on its way into the database.

    Attributes:
        sinks: Names of the sinks that get it, if their conditions hold.
        stored_s: Unix time at which the store accepted it.
        run: The run of the process that accepted it; empty if it is not known.
    """

    event: PassEvent
    sinks: tuple[str, ...]
    stored_s: float
    run: str = ""
    conditions: Mapping[str, SinkCondition] = field(default_factory=dict)

    @property
    def vehicle_pass(self) -> Pass:
        return self.event.vehicle_pass

    @property
    def kind(self) -> str:
        return self.event.kind

    @property
    def claim(self) -> LeaseClaim | None:
        return self.event.claim

    @property
    def id(self) -> str:
        """Id of its deliveries, the same when the event is written again.

        A pass has one event `agreed` and one `closed`. Each `updated` comes from another frame, so
        its time numbers it. The Standard Webhooks specification forbids full stops in ids.
        """
        vehicle_pass = self.vehicle_pass
        sequence = round(vehicle_pass.last_seen_s * 1000) if self.kind == "updated" else 0
        return f"{vehicle_pass.id}_{self.kind}_{sequence}".replace(".", "-")

    @property
    def time_s(self) -> float:
        """Unix time of the pass. The time in a file counts from its start, so it is of no use."""
        vehicle_pass = self.vehicle_pass
        return self.stored_s if vehicle_pass.clock == "file" else vehicle_pass.first_seen_s


def address(
    events: Sequence[PassEvent], sinks: Sequence[Sink], now_s: float, run: str = ""
) -> list[AddressedEvent]:
    """Return events with the sinks that want them, as far as the events themselves tell."""
    return [_address(event, sinks, now_s, run) for event in events]


def _address(event: PassEvent, sinks: Sequence[Sink], now_s: float, run: str) -> AddressedEvent:
    vehicle_pass = event.vehicle_pass
    local = _to_local(now_s if vehicle_pass.clock == "file" else vehicle_pass.last_seen_s, now_s)
    wanting = [sink for sink in sinks if _wants(sink, event, local)]
    conditions = {
        sink.name: SinkCondition(sink.lists, sink.unknown, sink.hold_off_s)
        for sink in wanting
        if sink.lists or sink.unknown or sink.hold_off_s
    }
    return AddressedEvent(event, tuple(sink.name for sink in wanting), now_s, run, conditions)


def _to_local(seen_s: float, now_s: float) -> datetime:
    """Return the local time at which a vehicle was seen; now for a time that no calendar has."""
    try:
        return datetime.fromtimestamp(seen_s)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(now_s)


def _wants(sink: Sink, event: PassEvent, local: datetime) -> bool:
    vehicle_pass = event.vehicle_pass
    score = vehicle_pass.text_score if vehicle_pass.text else 0.0
    return (
        event.kind in sink.events
        and (not sink.cameras or vehicle_pass.camera in sink.cameras)
        and (not sink.zones or not {*sink.zones}.isdisjoint(vehicle_pass.zones))
        and sink.direction in ("", vehicle_pass.direction)
        and score >= sink.text_threshold
        and is_watched(sink.schedule, local)
    )


PICTURES = ("crop_jpeg", "frame_jpeg")
PASS_KEY = "passed"
"""The key of the pass in the files, which other versions of the service read and have written."""


def encode(event: AddressedEvent) -> bytes:
    """Return an event as the content of a file."""
    table = asdict(event)
    pass_table = table["event"]
    pass_table[PASS_KEY] = pass_table.pop("vehicle_pass")
    pictures = [pass_table[PASS_KEY]["best"].pop(name) for name in PICTURES]
    table["lengths"] = [len(picture) for picture in pictures]
    return b"\n".join((json.dumps(table).encode(), b"".join(pictures)))


def decode(content: bytes) -> AddressedEvent:
    """Return the event of a file.

    Raises:
        RejectedValue: The file is damaged.
    """
    line, _, pictures = content.partition(b"\n")
    try:
        table = json.loads(line)
        crop, frame = table.pop("lengths")
        if len(pictures) != crop + frame:
            raise ValueError(f"wanted {crop + frame} bytes of pictures, got {len(pictures)}")
        event = table["event"]
        event["vehicle_pass"] = event.pop(PASS_KEY)
        best = event["vehicle_pass"]["best"]
        best |= {"crop_jpeg": pictures[:crop], "frame_jpeg": pictures[crop:]}
        return _adapter().validate_python(table)
    except ValidationError as error:  # its text holds values, such as plates
        wrong = f"{error.error_count()} fields do not fit"
        raise RejectedValue(f"a file of the spool is damaged: {wrong}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedValue(f"a file of the spool is damaged: {error}") from error


@cache
def _adapter() -> TypeAdapter[AddressedEvent]:
    return TypeAdapter(AddressedEvent)
