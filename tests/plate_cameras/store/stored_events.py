"""Events as the tests store them."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa

from orchestrator.plates import Plate, PlateRegion
from plate_cameras.configuration import Sink
from plate_cameras.passes import BestFrame, LineCrossing, Observation, Pass, PassEvent
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.store_clock import StoreClock

NOW_S = 1_750_000_000.0
DAY_S = 86400.0
REQUESTER = Requester("officer", "case 12")
WEBHOOK = Sink("webhook", "webhook", "https://example.org", ("agreed", "updated", "closed"))
Kind = Literal["agreed", "updated", "closed"]


@dataclass
class MachineClocks:
    """The clocks of a machine, which a test moves."""

    wall_s: float = NOW_S
    steady_s: float = 1000.0
    boot: str = "boot"

    def run(self, seconds: float) -> None:
        self.wall_s += seconds
        self.steady_s += seconds

    def make_store_clock(self, database: Database) -> StoreClock:
        wall, steady = (lambda: self.wall_s), (lambda: self.steady_s)
        return StoreClock(database, wall=wall, steady=steady, boot=self.boot)


def make_plate(text: str) -> Plate:
    return Plate(
        xyxy=(10.0, 20.0, 110.0, 45.0),
        detection_score=0.9,
        text=text,
        text_score=0.95,
        raw_text=text,
        character_scores=(0.9, 0.8),
        candidates=((text, 0.95), ("B777BB77", 0.03)),
        corners=((10.0, 20.0), (110.0, 20.0), (110.0, 45.0), (10.0, 45.0)),
        format="ru_car",
        region=PlateRegion("77", "Moscow"),
    )


def make_event(
    pass_id: str, text: str = "A123BC77", kind: Kind = "closed", **changes: Any
) -> PassEvent:
    """Return an event of a pass with two readings; `changes` are fields of the pass."""
    start_s = changes.pop("first_seen_s", NOW_S - 60)
    looks = tuple(
        Observation(start_s + at, make_plate(text), sharpness=0.7, weight=0.5) for at in range(2)
    )
    best = BestFrame(looks[1], (640, 480), f"crop {pass_id}".encode(), f"frame {pass_id}".encode())
    vehicle_pass = Pass(
        id=pass_id,
        camera="gate",
        progress="closed" if kind == "closed" else "agreed",
        first_seen_s=start_s,
        last_seen_s=start_s + 1,
        clock="wall",
        text=text,
        text_score=0.98,
        format="ru_car",
        candidates=((text, 0.98), ("B777BB77", 0.01)),
        direction="towards",
        crossings=(LineCrossing("stop", "left", start_s + 1),),
        speed_widths_s=0.5,
        zones=("drive",),
        observations=looks,
        speed_kmh=36.0,
        speed_error_kmh=2.5,
        best=best,
    )
    return PassEvent(kind, replace(vehicle_pass, **changes))


def with_pictures(event: PassEvent, crop: bytes, frame: bytes = b"frame") -> PassEvent:
    """Return an event with these pictures."""
    best = replace(event.vehicle_pass.best, crop_jpeg=crop, frame_jpeg=frame)
    return replace(event, vehicle_pass=replace(event.vehicle_pass, best=best))


def read_rows(database: Database, *columns: sa.ColumnElement[Any]) -> list[tuple[Any, ...]]:
    """Return these columns of all rows, in the order of the first one."""
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(columns[0]))]


def read_column(database: Database, column: sa.ColumnElement[Any]) -> list[Any]:
    return [value for (value,) in read_rows(database, column)]


def find_ids(store: PassStore, query: PassQuery) -> list[str]:
    """Return the ids of a search's first page."""
    return [found_pass.id for found_pass in store.search(query, REQUESTER).passes]


def openings_of(store: PassStore) -> list[tuple[str, str, str]]:
    """Return outcome, reason and person of each opening."""
    page = store.openings.page(EVERYTHING).openings
    return [(opening.outcome, opening.reason, opening.person) for opening in page]
