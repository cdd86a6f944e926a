"""The things of a simulated driveway: its cameras and gate, vehicles, and a store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from plate_cameras.configuration import Camera, Schedule
from plate_cameras.passes import LineCrossing
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup, LoadedList
from plate_cameras.store.openings.gate_openings import GateOpening
from tests.plate_cameras.gates.known_vehicles import make_gate
from tests.virtual_time import VirtualLoop

START_UNIX_S = datetime(2026, 11, 26, 12, 0).timestamp()
CAMERAS = (Camera("gate", "rtsp://gate"), Camera("yard", "rtsp://yard"))
LISTED = "M456OP199"
TEXTS = ("A123BC77", "A128BC77", LISTED)
DAY, NIGHT = Schedule(start="06:00", end="22:00"), Schedule(start="22:00", end="06:00")
GATE = make_gate(
    zones=("entry",),
    direction="towards",
    lines=("stop",),
    side="left",
    hold_off_s=20.0,
    open_s=2.0,
    stale_lists_s=15.0,
    agreement_threshold=0.9,
    schedule=Schedule(),
)


@dataclass
class SeenVehicle:
    """A vehicle in front of a camera. `earlier` counts the frames that agreed on each text."""

    pass_id: str
    camera: str
    text: str
    zones: tuple[str, ...] = ("entry",)
    direction: Any = "towards"
    side: Any = "left"
    score: float = 0.97
    agreeing: int = 2
    is_hidden: bool = False
    shown_s: float = 0.0
    earlier: dict[str, int] = field(default_factory=dict)

    @property
    def crossings(self) -> tuple[LineCrossing, ...]:
        return (LineCrossing("stop", self.side, 0.0),) if self.side else ()


class WorldStore:
    """A store of lists and openings.

    While the database is away, reads fail and records wait in a file.

    Attributes:
        requested_s: True times of the requests to the relay, by pass.
        read_entries: The list entries that the gates have read last.
    """

    def __init__(self) -> None:
        self.entries: dict[str, ListEntry] = {}
        self.revision = 1
        self.is_away = False
        self.records: dict[str, GateOpening] = {}
        self.unix_s = START_UNIX_S
        self.requested_s: dict[str, float] = {}
        self.read_entries: dict[str, ListEntry] = {}
        self.loop: VirtualLoop | None = None

    @property
    def openings(self) -> "WorldStore":
        return self

    def refresh(self, lookup: ListLookup) -> None:
        if self.is_away:
            raise StoreUnavailable("the database is away")
        self.read_entries = {**self.entries}
        fuzzy = tuple(entry for entry in self.entries.values() if entry.edits)
        plate_list = LoadedList(1, "residents", self.revision, {**self.entries}, fuzzy)
        lookup.replace({1: plate_list}, {})

    def recent(self, within_s: float) -> list[tuple[GateOpening, float]]:
        if self.is_away:
            raise RuntimeError("the driver has another error")
        now_s = self.loop.time() if self.loop else 0.0
        openings = [
            opening for opening in self.records.values() if opening.outcome in ("opened", "unknown")
        ]
        pairs = ((opening, now_s - self.requested_s[opening.pass_id]) for opening in openings)
        return [(opening, age_s) for opening, age_s in pairs if age_s <= within_s]

    def begin(
        self, opening: GateOpening, within_s: float, is_known: Callable[[str], bool]
    ) -> list[tuple[GateOpening, float]]:
        if self.is_away:
            raise StoreUnavailable("the database is away")
        return [aged for aged in self.recent(within_s) if not is_known(aged[0].id)]

    def withdraw(self, id_: str) -> None:
        if self.is_away:
            raise StoreUnavailable("the database is away")

    def write(self, openings: Sequence[GateOpening]) -> None:
        self.records |= {opening.id: opening for opening in openings}

    def unix_s_now(self) -> float:
        return self.unix_s + (self.loop.time() if self.loop else 0.0)


@dataclass(frozen=True)
class RelayRequest:
    """A request that reached a relay."""

    at_s: float
    gate: str
    pass_id: str
    texts: tuple[str, str]
