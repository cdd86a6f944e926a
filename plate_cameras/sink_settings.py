"""A receiver of events in CAMERAS.toml, and the events that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import check_address
from orchestrator.host.toml_files import check_range, show
from plate_cameras.setting_parts import (
    DAY_S,
    DIRECTIONS,
    MAX_CAMERAS,
    Schedule,
    at_most,
    check_name,
    check_sizes,
)

EVENTS = ("agreed", "updated", "closed")


@dataclass(frozen=True)
class Sink:
    """A receiver of events. It gets an event if every condition that is given holds.

    Attributes:
        name: Unique name of the sink.
        type: `webhook`, `mqtt`, `jsonl`, `notify`, or the name of a Python entry point.
        url: Address or file of the receiver.
        events: Kinds of events to send: `agreed`, `updated`, `closed`.
        cameras: Cameras whose events it gets; all if empty.
        lists: Lists of its cameras; the plate is on one of them. Any plate if empty.
        unknown: True if it gets plates that are on no list of their camera; beside `lists`, both.
        zones: Names of zones; the plate was seen in one of them.
        direction: `towards` or `away`; empty for any.
        text_threshold: Least score of the text, in [0, 1].
        schedule: Hours in which the vehicle was seen.
        hold_off_s: Time after an event in which no other one of the same plate is sent.
        secrets: Secrets of a webhook's signatures, the newest first. `env:NAME` takes the value of
            an environment variable.
        private_addresses: True if a webhook may go to private addresses.
        options: More settings of its type.
    """

    name: str
    type: str
    url: str = field(repr=False)
    events: tuple[str, ...] = ("agreed", "closed")
    cameras: tuple[str, ...] = field(default=(), metadata=at_most(MAX_CAMERAS))
    lists: tuple[str, ...] = ()
    unknown: bool = False
    zones: tuple[str, ...] = ()
    direction: str = ""
    text_threshold: float = 0.0
    schedule: Schedule = field(default_factory=Schedule)
    hold_off_s: float = 0.0
    secrets: tuple[str, ...] = field(default=(), repr=False)
    private_addresses: bool = False
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_sizes(self)
        check_name(self.name)
        check_address(f"sink {self.name}: url", self.url)
        for event in self.events:
            if event not in EVENTS:
                choices = ", ".join(EVENTS)
                raise SettingsError(f"events: wanted some of {choices}, got {show(event)}")
        where = f"sink {self.name}: "
        if self.direction not in DIRECTIONS:
            choices = " or ".join(DIRECTIONS[1:])
            raise SettingsError(f"{where}direction: wanted {choices}, got {show(self.direction)}")
        check_range(f"{where}text_threshold", self.text_threshold, 0, 1)
        check_range(f"{where}hold_off_s", self.hold_off_s, 0, DAY_S)
