"""Parts of CAMERAS.toml: limits of sizes, the hours of a week, gates and sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, time
from pathlib import Path
from typing import Any

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import check_address
from orchestrator.host.toml_files import check_range, show

MAX_CAMERAS = 2000
MAX_GATES = 200
MAX_SINKS = 100
MAX_SITES = 20
MAX_AREAS = 100
"""Largest number of zones, of lines or of masks of a camera."""
MAX_POINTS = 1000
"""Largest number of points of a zone or mask."""
MAX_ITEMS = 100
"""Largest number of items of each other list or table, for example the lists of a camera."""
MAX_CHARACTERS = 4096
"""Largest number of characters of a text."""
SIZE = "size"


def at_most(max_items: int) -> Mapping[str, Any]:
    """Return the metadata of a field that may have so many items, and not `MAX_ITEMS`."""
    return {SIZE: max_items}


def check_sizes(settings: Any) -> None:
    """Check the number of items and characters of each field of a dataclass, and the characters.

    Values of tables may have any characters, for example a text with several lines for a relay.

    Raises:
        SettingsError: A field has too many items or characters, or one that cannot be printed.
    """
    for field_ in fields(settings):
        value = getattr(settings, field_.name)
        if isinstance(value, (tuple, Mapping)):
            max_items = field_.metadata.get(SIZE, MAX_ITEMS)
            if len(value) > max_items:
                raise SettingsError(f"{field_.name}: wanted at most {max_items}, got {len(value)}")
        items = value if isinstance(value, tuple) else [value]
        if isinstance(value, Mapping):
            items = [*value, *value.values()]
        for item in items:
            if isinstance(item, (str, Path)) and len(str(item)) > MAX_CHARACTERS:
                limit = f"at most {MAX_CHARACTERS} characters"
                raise SettingsError(f"{field_.name}: wanted {limit}, got {len(str(item))}")
        for text in value if isinstance(value, Mapping) else items:
            if isinstance(text, str) and not text.isprintable():
                bad = next(letter for letter in text if not letter.isprintable())
                raise SettingsError(f"{field_.name}: wanted printable characters, got {show(bad)}")


def check_name(name: str) -> None:
    """Check the name of a part, which logs and pages show.

    Raises:
        SettingsError: It is empty, too long, or not printable.
    """
    if not name or len(name) > 100 or not name.isprintable():
        raise SettingsError(f"name: wanted 1 to 100 printable characters, got {show(name)}")


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Schedule:
    """Hours of a week by the machine's local time: of a camera, a gate or a sink.

    Attributes:
        days: Days of the week, `mon` to `sun`.
        start: First minute, `HH:MM`.
        end: First minute after it, `HH:MM`; before `start` if the hours go past midnight.
    """

    days: tuple[str, ...] = DAYS
    start: str = "00:00"
    end: str = "24:00"

    def __post_init__(self) -> None:
        for day in self.days:
            if day not in DAYS:
                raise SettingsError(f"days: wanted some of {', '.join(DAYS)}, got {show(day)}")
        to_minutes(self.start), to_minutes(self.end)
        check_sizes(self)


def to_minutes(text: str) -> int:
    """Return the minutes from midnight to a time of the form `HH:MM`; `24:00` ends a day.

    Raises:
        SettingsError: The text has another form.
    """
    if text == "24:00":
        return 24 * 60
    try:
        time_of_day = time.fromisoformat(text)
    except ValueError as error:
        raise SettingsError(f"schedule: wanted a time HH:MM, got {show(text)}") from error
    if time_of_day.tzinfo:
        raise SettingsError(f"schedule: wanted local time without an offset, got {show(text)}")
    return time_of_day.hour * 60 + time_of_day.minute


def is_watched(schedule: Schedule, local_time: datetime) -> bool:
    """Tell whether a local time is within a schedule.

    Hours past midnight belong to the day on which they start. If `start` and `end` are the same,
    the hours are the 24 from `start`.
    """
    start, end = to_minutes(schedule.start), to_minutes(schedule.end)
    minute = local_time.hour * 60 + local_time.minute
    today, yesterday = DAYS[local_time.weekday()], DAYS[local_time.weekday() - 1]
    if start < end:
        return today in schedule.days and start <= minute < end
    return (today in schedule.days and minute >= start) or (
        yesterday in schedule.days and minute < end
    )


TYPES = ("http", "onvif", "modbus")
DIRECTIONS = ("", "towards", "away")
SIDES = ("", "left", "right")
DAY_S = 86400.0


@dataclass(frozen=True)
class Gate:
    """A barrier or door that opens for the plates of lists.

    Every condition that is given must hold.

    Attributes:
        name: Unique name of the gate.
        type: Kind of its relay: `http`, `onvif` or `modbus`.
        url: Address of the relay.
        cameras: Names of the cameras whose passes may open it.
        lists: Names of the lists whose plates may open it.
        blocked_lists: Names of the lists whose plates never open it, whatever other lists say.
        zones: Names of zones; the plate was seen in one of them.
        direction: `towards` or `away`; empty for any.
        lines: Names of lines; the plate has crossed one of them.
        side: `left` or `right`, the side on which it arrived at the last crossing; empty for any.
        schedule: Hours in which it opens.
        agreement_threshold: Least score of the text; the camera's counts if that is higher.
        fuzzy: True if a text that differs from an entry may open it, where the entry allows edits.
        hold_off_s: Time after an opening in which it does not open for the same plate.
        open_s: Time that it stays open, in which no other vehicle triggers it.
        pulse_s: Time after which the relay is switched off, if it does not do that by itself.
        stale_lists_s: Longest time that lists are used while the database is away.
        options: More settings of its type. `env:NAME` takes the value of an environment variable.
    """

    name: str
    type: str
    url: str = field(repr=False)
    cameras: tuple[str, ...]
    lists: tuple[str, ...]
    zones: tuple[str, ...] = ()
    direction: str = ""
    lines: tuple[str, ...] = ()
    side: str = ""
    schedule: Schedule = field(default_factory=Schedule)
    agreement_threshold: float = 0.0
    fuzzy: bool = False
    hold_off_s: float = 60.0
    open_s: float = 5.0
    pulse_s: float = 1.0
    stale_lists_s: float = DAY_S
    blocked_lists: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_sizes(self)
        where = f"gate {self.name}: "
        check_name(self.name)
        check_address(f"{where}url", self.url)
        for name, choices in (("type", TYPES), ("direction", DIRECTIONS), ("side", SIDES)):
            if (value := getattr(self, name)) not in choices:
                texts = ", ".join(filter(None, choices))
                raise SettingsError(f"{where}{name}: wanted {texts}, got {show(value)}")
        for name in ("cameras", "lists"):
            if not getattr(self, name):
                raise SettingsError(f"{where}{name}: wanted at least one, got none")
        if self.side and not self.lines:
            raise SettingsError(f"{where}side: wanted lines beside it, got none")
        self._check_ranges(where)

    def _check_ranges(self, where: str) -> None:
        check_range(f"{where}agreement_threshold", self.agreement_threshold, 0, 1)
        check_range(f"{where}hold_off_s", self.hold_off_s, 0, DAY_S)
        check_range(f"{where}open_s", self.open_s, 0, 600)
        check_range(f"{where}pulse_s", self.pulse_s, 0.1, 60)
        check_range(f"{where}stale_lists_s", self.stale_lists_s, 5, 365 * DAY_S)


@dataclass(frozen=True)
class Site:
    """A yard or car park, whose cameras see vehicles come and go.

    A camera that sees both is in both lists; then the direction decides.

    Attributes:
        name: Unique name of the site.
        entries: Names of the cameras at its entries.
        exits: Names of the cameras at its exits.
        entry_direction: Direction of vehicles that come, where a camera sees both.
        max_stay_hours: Hours after which a vehicle stays too long; 0 for no limit.
        forget_days: Days after which a vehicle counts as gone, because its exit was missed.
    """

    name: str
    entries: tuple[str, ...] = field(metadata=at_most(MAX_CAMERAS))
    exits: tuple[str, ...] = field(metadata=at_most(MAX_CAMERAS))
    entry_direction: str = "towards"
    max_stay_hours: float = 0.0
    forget_days: float = 30.0

    @property
    def cameras(self) -> tuple[str, ...]:
        """All of its cameras."""
        return tuple(dict.fromkeys((*self.entries, *self.exits)))

    def __post_init__(self) -> None:
        check_sizes(self)
        check_name(self.name)
        where = f"site {self.name}: "
        for name in ("entries", "exits"):
            if not getattr(self, name):
                raise SettingsError(f"{where}{name}: wanted at least one camera, got none")
        if self.entry_direction not in DIRECTIONS[1:]:
            choices = " or ".join(DIRECTIONS[1:])
            direction = show(self.entry_direction)
            raise SettingsError(f"{where}entry_direction: wanted {choices}, got {direction}")
        check_range(f"{where}max_stay_hours", self.max_stay_hours, 0, 24 * 365)
        check_range(f"{where}forget_days", self.forget_days, 1, 365)
