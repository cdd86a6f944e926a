"""Random histories of watchers with leases: no camera has two certain owners, and none is lost."""

import asyncio
import shutil
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.leases.camera_leases import CameraLeases, Holding
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.migrations import upgrade
from plate_cameras.store.tables.schema import camera_leases, watchers
from plate_cameras.watching.leases import CameraSharing, SharedCameras
from tests.fuzzing.profiles import histories
from tests.plate_cameras.samples import make_event, make_frame

MACHINES = ("north", "south", "west")
CAMERAS = ("bridge", "gate", "yard")
CALM_S = 14
"""Time to recover after the end of all faults: two lease times and the rounds of sharing, in
seconds."""


class FaultyLeases(CameraLeases):
    """Leases that a watcher cannot reach during a fault."""

    is_away = False

    def hold(
        self, watcher: str, cameras: Collection[str], *, most: int = 0, takes: bool = True
    ) -> Holding:
        self._check()
        return super().hold(watcher, cameras, most=most, takes=takes)

    def give_back(self, watcher: str, cameras: Collection[str]) -> None:
        self._check()
        super().give_back(watcher, cameras)

    def leave(self, watcher: str) -> None:
        self._check()
        super().leave(watcher)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailable("away")


class WatcherProcess:
    """A watcher.

    Attributes:
        leases: Its leases in the database.
        sharing: The cameras that it believes to hold.
        camera_names: The cameras that it follows.
        is_frozen: True while it does nothing.
        faults: Number of changes of its cameras that will fail.
    """

    def __init__(self, site: "SharedSite", name: str) -> None:
        self.leases = FaultyLeases(site.database, clock=lambda: site.now_s)
        cameras = SharedCameras(lambda: CAMERAS, self.follow, lambda _: 0)
        self.sharing = CameraSharing(self.leases, cameras, watcher=name, clock=lambda: site.now_s)
        self.camera_names: set[str] = set()
        self.is_frozen, self.faults = False, 0

    async def follow(self, names: Collection[str]) -> None:
        if self.faults:
            self.faults -= 1
            raise OSError(24, "too many open files")
        self.camera_names = {*names}

    async def look(self, camera: str, now_s: float) -> int | None:
        """Return the epoch of a certain claim of what a frame shows now; None without."""
        if camera not in self.camera_names:
            return None
        frame = replace(make_frame(camera, time_s=now_s - 1e6), steady_s=now_s)
        if not await self.sharing.permit(frame):
            return None
        event = make_event(camera=camera)
        vehicle_pass = replace(event.vehicle_pass, last_moment_s=now_s)
        claim = self.sharing.claim(replace(event, vehicle_pass=vehicle_pass)).claim
        return claim.epoch if claim and claim.is_certain else None


class SharedSite:
    """The database, the clock and the processes.

    Attributes:
        now_s: The steady clock of all machines.
    """

    def __init__(self, folder: Path) -> None:
        self.file, self.template = folder / "leases.db", folder / "template.db"
        template = Database(f"sqlite:///{self.template}")
        upgrade(template)
        template.close()
        self.database = Database(f"sqlite:///{self.file}")
        self.loop = asyncio.new_event_loop()

    def begin(self) -> None:
        """Begin a history."""
        self.database.close()
        for file in self.file.parent.glob("leases.db*"):
            file.unlink()
        shutil.copy(self.template, self.file)
        self.now_s, self.start_count = 1000.0, 0
        self.processes: dict[str, WatcherProcess | None] = {}

    def start(self, machine: str) -> None:
        self.start_count += 1
        self.processes[machine] = WatcherProcess(self, f"{machine}-{self.start_count}")

    def tick(self, order: Collection[str]) -> None:
        self.now_s += 1
        self.loop.run_until_complete(self._tick(order))

    async def _tick(self, order: Collection[str]) -> None:
        for machine in order:
            process = self.processes.get(machine)
            if process and not process.is_frozen:
                await process.sharing.renew()
                await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        for camera, owner in self.owners().items():
            for machine in order:
                process = self.processes.get(machine)
                if process and not process.is_frozen:
                    epoch = await process.look(camera, self.now_s)
                    assert epoch is None or owner == (process.sharing.watcher, epoch), camera

    def owners(self) -> dict[str, tuple[str, int]]:
        with self.database.reading() as connection:
            rows = connection.execute(sa.select(camera_leases)).all()
        return {row.camera: (row.watcher, row.epoch) for row in rows}

    def set_clock(self, seconds: float) -> None:
        """Set the database's clock back: all its times seem later."""
        with self.database.writing() as connection:
            later = {name: camera_leases.c[name] + seconds for name in ("expires_s", "taken_s")}
            connection.execute(sa.update(camera_leases).values(later))
            connection.execute(sa.update(watchers).values(seen_s=watchers.c.seen_s + seconds))


machines = st.sampled_from(MACHINES)


class LeaseMachine(RuleBasedStateMachine):
    """A state machine: each step is one event at the watchers or their database."""

    site: SharedSite

    @initialize(count=st.integers(1, 3))
    def begin(self, count: int) -> None:
        self.site.begin()
        for machine in MACHINES[:count]:
            self.site.start(machine)

    def of(self, machine: str) -> WatcherProcess:
        """Return a process; a new one in place of a dead one."""
        return self.site.processes.get(machine) or WatcherProcess(self.site, "nobody")

    @rule(seconds=st.sampled_from([1, 3, 8]), order=st.permutations(MACHINES))
    def pass_time(self, seconds: int, order: list[str]) -> None:
        for _ in range(seconds):
            self.site.tick(order)

    @rule(machine=machines)
    def kill(self, machine: str) -> None:
        self.site.processes[machine] = None

    @rule(machine=machines)
    def start(self, machine: str) -> None:
        if self.site.processes.get(machine) is None:
            self.site.start(machine)

    @rule(machine=machines)
    def leave(self, machine: str) -> None:
        process = self.of(machine)
        if not process.is_frozen:
            process.camera_names = set()
            self.site.loop.run_until_complete(process.sharing.leave())
            self.site.processes[machine] = None

    @rule(machine=machines, is_frozen=st.booleans())
    def freeze(self, machine: str, is_frozen: bool) -> None:
        self.of(machine).is_frozen = is_frozen

    @rule(machine=machines, is_away=st.booleans())
    def lose_the_database(self, machine: str, is_away: bool) -> None:
        self.of(machine).leases.is_away = is_away

    @rule(is_away=st.booleans())
    def lose_it_everywhere(self, is_away: bool) -> None:
        for machine in MACHINES:
            self.of(machine).leases.is_away = is_away

    @rule(machine=machines, faults=st.integers(1, 3))
    def fail_to_follow(self, machine: str, faults: int) -> None:
        self.of(machine).faults = faults

    @rule(seconds=st.sampled_from([-3600.0, -5.0, 5.0, 3600.0]))
    def set_the_clock(self, seconds: float) -> None:
        self.site.set_clock(seconds)

    def teardown(self) -> None:
        """End all faults, and check that each camera is followed by one watcher, in even shares."""
        processes = [process for process in self.site.processes.values() if process]
        for process in processes:
            process.is_frozen = process.leases.is_away = False
            process.faults = 0
        for _ in range(CALM_S if processes else 0):
            self.site.tick(MACHINES)
        if processes:
            names = sorted(name for process in processes for name in process.camera_names)
            assert names == [*CAMERAS]
            shares = [len(process.camera_names) for process in processes]
            assert max(shares) - min(shares) <= 1


@pytest.fixture
def site() -> Iterator[SharedSite]:
    """Return a site in memory if possible: a disk would make each history slow."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        site_ = SharedSite(Path(folder))
        yield site_
        site_.loop.close()
        site_.database.close()


def test_any_history_leaves_each_camera_to_one_watcher(site: SharedSite) -> None:
    machine = type("Machine", (LeaseMachine,), {"site": site})
    run_state_machine_as_test(machine, settings=histories)
