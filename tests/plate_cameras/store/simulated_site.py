"""The parts of a simulated site: its database that fails, its watchers and its vehicles."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import sqlalchemy as sa

from plate_cameras.passes import Observation, PassEvent
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import MAX_IDLE_S, Database
from plate_cameras.store.writing.buffered_writer import BufferedWriter
from tests.plate_cameras.store.stored_events import make_plate


class Crash(BaseException):
    """Raised where the process of a watcher ends."""


class FaultyDatabase(Database):
    """A database whose transactions fail as a test wants."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.set_faults()

    def set_faults(
        self, *, is_away: bool = False, crash_in: int | None = None, commits_first: bool = False
    ) -> None:
        """Set the faults from now on.

        Args:
            is_away: True if it cannot be reached.
            crash_in: Transactions until the process ends; None for never.
            commits_first: True if that transaction is committed before.
        """
        self.is_away, self.crash_in, self.commits_first = is_away, crash_in, commits_first

    def check(self) -> None:
        self._reach()
        super().check()

    def reading(self, limit_s: float | None = None) -> AbstractContextManager[sa.Connection]:
        self._reach()
        return super().reading(limit_s)

    @contextmanager
    def writing(
        self, limit_s: float | None = None, *, idle_s: float = MAX_IDLE_S
    ) -> Iterator[sa.Connection]:
        self._reach()
        is_last = self.crash_in == 0
        self.crash_in = self.crash_in and self.crash_in - 1
        with super().writing(limit_s, idle_s=idle_s) as connection:
            yield connection
            if is_last and not self.commits_first:
                raise Crash
        if is_last:
            raise Crash

    def _reach(self) -> None:
        if self.is_away:
            raise StoreUnavailable("the database is away")


@dataclass
class SimulatedVehicle:
    """A vehicle before the camera; frames show its texts one after the other."""

    number: int
    texts: list[str]
    is_excused: bool = False
    """True if two passes are permitted, because no watcher could recognise the vehicle."""
    unseen_s: float = 0.0
    was_closed: bool = False
    """True if a watcher has lost the vehicle and closed its pass."""


def see_again(event: PassEvent, vehicle: SimulatedVehicle, camera_s: float) -> PassEvent:
    """Return an event with two more readings of the vehicle."""
    plate = make_plate(vehicle.texts[-1])
    looks = tuple(Observation(camera_s + at, plate, 0.7, 0.5) for at in range(2))
    observations = (event.vehicle_pass.observations + looks)[-20:]
    changes = {"text": vehicle.texts[-1], "last_seen_s": camera_s + 1}
    seen_pass = replace(event.vehicle_pass, observations=observations, **changes)
    return replace(event, vehicle_pass=seen_pass)


@dataclass
class SimulatedPass:
    """An open pass in a watcher's memory; certain if the lease was valid until its last frame."""

    event: PassEvent
    is_certain: bool = True


@dataclass
class SimulatedWatcher:
    """One process, with its open passes by the numbers of vehicles."""

    name: str
    store: PassStore
    database: FaultyDatabase
    epoch: int = 0
    """The epoch of the lease that it believes to hold; 0 for none."""
    open: dict[int, SimulatedPass] = field(default_factory=dict)


class PreparedWriter(BufferedWriter):
    """A writer whose database has its tables."""

    def prepare(self) -> None:
        self.database.check()


class SimulatedSite:
    """A copy of a database file, and the connections of each machine, for one simulation a time."""

    def __init__(self, template: Path, folder: Path, machines: Iterable[str]) -> None:
        self.template, self.folder = template, folder
        url = f"sqlite:///{folder / 'passes.db'}"
        self.database = Database(url)
        self.of_machines = {name: FaultyDatabase(url) for name in machines}

    def clear(self) -> None:
        """Begin with an empty database, and without files."""
        for database in (self.database, *self.of_machines.values()):
            database.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        shutil.copy(self.template, self.folder / "passes.db")
