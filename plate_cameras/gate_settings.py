"""The settings of a gate: a barrier or door that opens for plates of lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import check_address
from orchestrator.host.toml_files import check_range, show
from plate_cameras.hours import Schedule
from plate_cameras.setting_sizes import check_sizes

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
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_sizes(self)
        where = f"gate {self.name}: "
        if not self.name or len(self.name) > 100 or not self.name.isprintable():
            raise SettingsError(
                f"name: wanted 1 to 100 printable characters, got {show(self.name)}"
            )
        check_address(f"{where}url", self.url)
        for name, known in (("type", TYPES), ("direction", DIRECTIONS), ("side", SIDES)):
            if (value := getattr(self, name)) not in known:
                wanted = ", ".join(filter(None, known))
                raise SettingsError(f"{where}{name}: wanted {wanted}, got {show(value)}")
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
