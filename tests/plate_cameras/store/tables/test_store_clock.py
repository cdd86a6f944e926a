"""The store's clock advances with time, independent of the machines' wall clocks."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables import store_clock as store_clock_module
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import passes, store_clock
from plate_cameras.store.tables.store_clock import (
    MARK_EVERY_S,
    MIN_OFF_S,
    SETTLED_S,
    STEP_S,
    Mark,
    read_boot,
)
from tests.plate_cameras.store.stored_events import DAY_S, MachineClocks, make_event, read_column
from tests.plate_cameras.store.stored_events import NOW_S as START_S

HOUR_S = 3600.0
ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
"""For what is the same with each database."""


class ClockMachine:
    """A machine whose clocks a test moves."""

    def __init__(self, database: Database, boot: str = "first", wall_s: float = START_S) -> None:
        self.clocks = MachineClocks(wall_s, boot=boot)
        self.clock = self.clocks.make_store_clock(database)

    @property
    def wall_s(self) -> float:
        return self.clocks.wall_s

    def run(self, seconds: float, step_s: float = HOUR_S / 4) -> float:
        """Let time pass, and return the store's time."""
        while seconds > 0:
            self.clocks.run(min(step_s, seconds))
            seconds -= step_s
            self.clock.now_s()
        return self.clock.now_s()


def test_it_begins_with_the_newest_pass_of_an_earlier_version(
    store: PassStore, database: Database
) -> None:
    store.write([make_event("a"), make_event("b")], [])
    with database.writing() as connection:
        for name, age_s in (("a", DAY_S), ("b", HOUR_S)):
            row = sa.update(passes).where(passes.c.id == name).values(kept_s=START_S - age_s)
            connection.execute(row)

    assert ClockMachine(database).clock.now_s() == START_S - HOUR_S


@ON_SQLITE
def test_processes_of_one_boot_agree(database: Database) -> None:
    first, second = ClockMachine(database), ClockMachine(database)
    first.run(HOUR_S)
    second.clocks.wall_s = first.wall_s - DAY_S
    second.clocks.steady_s = first.clocks.steady_s

    assert second.clock.now_s() == pytest.approx(first.clock.now_s())


@ON_SQLITE
def test_the_time_off_is_added_when_the_wall_clock_was_steady_for_an_hour(
    database: Database,
) -> None:
    ClockMachine(database).run(HOUR_S)
    again = ClockMachine(database, "second", START_S + HOUR_S + 5 * DAY_S)
    on_s = 2 * HOUR_S + MARK_EVERY_S

    assert again.clock.now_s() == pytest.approx(START_S + HOUR_S)
    assert again.run(SETTLED_S - MARK_EVERY_S) < START_S + 2 * HOUR_S
    assert again.run(2 * MARK_EVERY_S) == pytest.approx(START_S + 5 * DAY_S + on_s)
    assert again.run(DAY_S) == pytest.approx(START_S + 6 * DAY_S + on_s)


@ON_SQLITE
@pytest.mark.parametrize(
    ("wall_s", "set_s", "off_s"),
    [
        pytest.param(1000 * DAY_S, 600 - 1000 * DAY_S, 600.0, id="wrong at boot, 10 minutes off"),
        pytest.param(-START_S, 0.0, 0.0, id="went back while off"),
    ],
)
def test_a_wrong_clock_at_boot_adds_nothing(
    database: Database, wall_s: float, set_s: float, off_s: float
) -> None:
    ClockMachine(database).run(HOUR_S)
    again = ClockMachine(database, "second", max(0.0, START_S + HOUR_S + wall_s))
    again.run(HOUR_S / 2)
    again.clocks.wall_s += set_s

    assert again.run(3 * HOUR_S) == pytest.approx(START_S + 4.5 * HOUR_S + off_s)


@ON_SQLITE
def test_another_boot_within_the_hour_still_adds_the_time_off(database: Database) -> None:
    ClockMachine(database).run(HOUR_S)
    again = ClockMachine(database, "second", START_S + HOUR_S + DAY_S)
    again.run(HOUR_S / 2)
    last = ClockMachine(database, "third", again.wall_s + DAY_S)

    assert last.run(2 * HOUR_S) == pytest.approx(START_S + 2 * DAY_S + 3.5 * HOUR_S)


@ON_SQLITE
def test_a_machine_that_starts_beside_others_adds_nothing(database: Database) -> None:
    first = ClockMachine(database)
    first.run(HOUR_S)
    second = ClockMachine(database, "second", first.wall_s + 7 * DAY_S)
    for _ in range(16):
        first.run(HOUR_S / 4)
        second.run(HOUR_S / 4)

    assert second.clock.now_s() == pytest.approx(START_S + 5 * HOUR_S, abs=HOUR_S / 4)


@ON_SQLITE
def test_a_database_from_a_backup_does_not_set_it_back(database: Database) -> None:
    machine = ClockMachine(database)
    before_s = machine.run(HOUR_S)
    with database.writing() as connection:
        connection.execute(sa.delete(store_clock))
    machine.clocks.wall_s -= DAY_S

    assert machine.run(2 * MARK_EVERY_S) == before_s + 2 * MARK_EVERY_S


@pytest.mark.parametrize(
    ("step_s", "is_set"), [(9.0, False), (-9.0, False), (STEP_S, True), (-STEP_S, True)]
)
def test_the_wall_clock_was_set_when_it_moved_ten_seconds_apart(
    step_s: float, is_set: bool
) -> None:
    before = Mark("boot", START_S, START_S, 0.0, 0.0)
    after = before.advance(START_S + 60 + step_s, 60.0, None)
    assert after.settled_s == (60.0 if is_set else 0.0)


@pytest.mark.parametrize(
    ("off_s", "ran_s", "added_s"),
    [
        pytest.param(MIN_OFF_S, SETTLED_S, MIN_OFF_S, id="five-minutes-off"),
        pytest.param(MIN_OFF_S - 1, SETTLED_S, 0.0, id="less"),
        pytest.param(DAY_S, SETTLED_S - 1, 0.0, id="not-yet-an-hour"),
    ],
)
def test_five_minutes_off_are_added_after_an_hour(
    off_s: float, ran_s: float, added_s: float
) -> None:
    began_s = START_S + off_s
    first = Mark("boot", START_S, began_s, 0.0, 0.0, off_value_s=START_S, off_wall_s=START_S)
    later = first.advance(began_s + ran_s, ran_s, None)
    assert later.value_s == START_S + ran_s + added_s


def test_a_mark_is_made_every_minute(database: Database) -> None:
    machine = ClockMachine(database)
    for passed_s, now_s, mark_s in ((0, 0, 0), (59, 59, 0), (1, 60, 60), (60, 120, 120)):
        assert machine.run(passed_s, 60) - START_S == now_s
        assert read_column(database, store_clock.c.value_s) == [START_S + mark_s]


@ON_SQLITE
def test_nobody_waits_while_another_thread_makes_a_mark(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, may_end, writing = threading.Event(), threading.Event(), database.writing

    def write_slowly() -> Any:
        has_begun.set()
        assert may_end.wait(60)
        return writing()

    machine = ClockMachine(database)
    machine.clock.now_s()
    machine.clocks.steady_s += HOUR_S
    monkeypatch.setattr(database, "writing", write_slowly)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(machine.clock.now_s)
        assert has_begun.wait(60)
        try:
            machine.clocks.steady_s += HOUR_S
            assert threads.submit(machine.clock.now_s).result(20) == START_S + 2 * HOUR_S
        finally:
            may_end.set()
        slow.result(60)


@ON_SQLITE
def test_it_never_goes_back(database: Database) -> None:
    machine = ClockMachine(database)
    before_s = machine.run(HOUR_S)
    machine.clocks.steady_s -= HOUR_S

    assert machine.clock.now_s() >= before_s - MARK_EVERY_S
    machine.clocks.steady_s += HOUR_S + MARK_EVERY_S
    assert machine.clock.now_s() >= before_s


def test_it_runs_on_while_the_database_is_away_but_does_not_begin(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Database("sqlite:////none/passes.db")
    with pytest.raises(StoreUnavailable):
        ClockMachine(away).clock.now_s()
    machine = ClockMachine(database)
    machine.run(HOUR_S)
    for name in ("reading", "writing"):
        monkeypatch.setattr(database, name, getattr(away, name))

    assert machine.run(HOUR_S) == pytest.approx(START_S + 2 * HOUR_S)


@ON_SQLITE
@pytest.mark.parametrize(("ahead_s", "count"), [(59.0, 0), (60.0, 1), (-60.0, 1), (DAY_S, 1)])
def test_a_difference_of_a_minute_is_told_once(
    database: Database, caplog: pytest.LogCaptureFixture, ahead_s: float, count: int
) -> None:
    machine = ClockMachine(database)
    machine.run(HOUR_S)
    machine.clocks.wall_s += ahead_s
    with caplog.at_level(logging.WARNING):
        machine.run(HOUR_S)

    assert caplog.text.count(f"the wall clock is {ahead_s:+.0f} s from") == count
    assert machine.clock.ahead_s == pytest.approx(ahead_s)


def test_a_boot_has_one_id_and_where_it_is_not_told_each_process_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_boot() == read_boot()
    assert read_boot().startswith(store_clock_module.BOOT_ID.read_text().strip())
    monkeypatch.setattr(store_clock_module, "BOOT_ID", tmp_path / "missing")
    assert read_boot() != read_boot()


STEPS = [0.0, 0.0, 1.0, -1.0, 5.0, -5.0, HOUR_S, -HOUR_S, 40 * DAY_S, -40 * DAY_S]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 2 * HOUR_S), st.sampled_from(STEPS)), max_size=40))
def test_within_a_boot_no_steps_hasten_or_delay_it(moments: list[tuple[float, float]]) -> None:
    mark = Mark("boot", START_S, START_S, 0.0, 0.0)
    for passed_s, step_s in moments:
        mark = mark.advance(mark.wall_s + passed_s + step_s, mark.steady_s + passed_s, None)

    assert mark.value_s == pytest.approx(START_S + sum(passed_s for passed_s, _ in moments))


def test_the_newest_time_of_all_boots_counts(database: Database) -> None:
    first = ClockMachine(database)
    first.run(HOUR_S)
    ClockMachine(database, "idle", first.wall_s).clock.now_s()
    first.run(5 * HOUR_S)
    assert ClockMachine(database, "idle", first.wall_s).clock.now_s() == pytest.approx(first.wall_s)

    third = ClockMachine(database, "third", first.wall_s)
    assert third.clock.now_s() == pytest.approx(START_S + 6 * HOUR_S)
    for boot in ("idle", "fourth"):
        third.run(HOUR_S)
        again = ClockMachine(database, boot, third.wall_s)
        assert again.clock.now_s() == pytest.approx(third.wall_s)


def test_marks_of_boots_long_ago_are_forgotten(database: Database) -> None:
    ClockMachine(database).run(HOUR_S)
    machine = ClockMachine(database, "second", START_S + HOUR_S)
    machine.run(90 * DAY_S, 10 * DAY_S)
    assert len(read_column(database, store_clock.c.value_s)) == 2
    machine.run(HOUR_S)

    assert read_column(database, store_clock.c.value_s) == [START_S + 90 * DAY_S + 2 * HOUR_S]
