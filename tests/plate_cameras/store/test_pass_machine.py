"""Random histories of watchers and faults: each vehicle is one pass, reported once and closed."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.fuzzing.profiles import histories
from tests.plate_cameras.store.pass_world import PassWorld
from tests.plate_cameras.store.simulated_site import SimulatedSite

MACHINES = ("north", "south", "west")
machines = st.sampled_from(MACHINES)
MAX_VEHICLES = 3


class PassMachine(RuleBasedStateMachine):
    """A state machine: each step is one event at a camera, its watchers or their database."""

    site: SimulatedSite

    def __init__(self) -> None:
        super().__init__()
        self.world = PassWorld(self.site)

    def teardown(self) -> None:
        try:
            self.check()
        finally:
            self.world.close()

    @initialize(ahead_s=st.sampled_from([-3600.0, 0.0, 20.0, 50.0]))
    def begin(self, ahead_s: float) -> None:
        self.world.ahead_s = ahead_s
        for machine in MACHINES:
            self.world.start(machine)
        self.world.take("north")
        self.world.arrive()

    @precondition(lambda self: len(self.world.vehicles) < MAX_VEHICLES)
    @rule()
    def arrive(self) -> None:
        self.world.arrive()

    @precondition(lambda self: self.world.vehicles)
    @rule(which=st.integers(0, MAX_VEHICLES))
    def change_text(self, which: int) -> None:
        self.world.change_text(self.world.vehicles[which % len(self.world.vehicles)])

    @precondition(lambda self: self.world.vehicles)
    @rule(which=st.integers(0, MAX_VEHICLES))
    def leave(self, which: int) -> None:
        self.world.leave(self.world.vehicles[which % len(self.world.vehicles)])

    @rule(machine=machines)
    def take(self, machine: str) -> None:
        self.world.take(machine)

    @rule(machine=machines)
    def notice(self, machine: str) -> None:
        self.world.notice(machine)

    @rule(machine=machines)
    def kill(self, machine: str) -> None:
        self.world.end(machine)

    @rule(machine=machines)
    def start(self, machine: str) -> None:
        if self.world.watchers[machine] is None:
            self.world.start(machine)

    @rule(machine=machines, crash_in=st.integers(0, 4), commits_first=st.booleans())
    def crash_soon(self, machine: str, crash_in: int, commits_first: bool) -> None:
        if watcher := self.world.watchers[machine]:
            watcher.database.crash_in = crash_in
            watcher.database.commits_first = commits_first

    @rule(machine=machines, is_away=st.booleans())
    def lose_the_database(self, machine: str, is_away: bool) -> None:
        if watcher := self.world.watchers[machine]:
            watcher.database.is_away = is_away

    @rule(seconds=st.sampled_from([1.0, 5.0, 31.0, 65.0]))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(seconds=st.sampled_from([-3600.0, -3.0, 3.0, 3600.0]))
    def set_the_clock(self, seconds: float) -> None:
        self.world.unix_s += seconds

    @rule(machine=machines)
    def replay(self, machine: str) -> None:
        self.world.replay(machine)

    @rule(machine=machines)
    def close_left(self, machine: str) -> None:
        self.world.close_left(machine)

    @rule(machine=machines, outcome=st.sampled_from(["succeeds", "fails", "crashes"]))
    def deliver(self, machine: str, outcome: str) -> None:
        self.world.deliver(machine, outcome)

    def check(self) -> None:
        """End all faults; then each event is reported once, in order and under one id."""
        world = self.world
        world.settle()
        excused_vehicles = {f"v{vehicle.number}" for vehicle in world.gone if vehicle.is_excused}
        for vehicle, stored_passes in world.read_passes().items():
            assert {progress for _, progress in stored_passes} == {"closed"}, stored_passes
            events = world.list_events(vehicle)
            assert events.keys() == {pass_id for pass_id, _ in stored_passes}
            for kinds in events.values():
                assert kinds[-1] == "pass.closed", events
                assert kinds.count("pass.closed") == 1, events
                assert "pass.agreed" not in kinds[1:], events
            is_one = len(stored_passes) == 1 or vehicle in excused_vehicles
            assert is_one, (stored_passes, events)


@pytest.fixture
def memory() -> Iterator[Path]:
    """Return a folder in memory if possible: a disk would make each history slow."""
    parent = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=parent if parent.is_dir() else None) as folder:
        yield Path(folder)


def test_any_history_tells_of_each_vehicle_once(sqlite_template: Path, memory: Path) -> None:
    site = SimulatedSite(sqlite_template, memory / "site", MACHINES)
    machine = type("Machine", (PassMachine,), {"site": site})
    run_state_machine_as_test(machine, settings=histories)
