"""The store's clock advances with time, independent of the machines' wall clocks."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
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
    StoreClock,
    read_boot,
)
from tests.plate_cameras.store.stored_events import make_event

START_S = 1_750_000_000.0
HOUR_S, DAY_S = 3600.0, 86400.0


class Machine:
    """A machine whose clocks a test moves."""

    def __init__(self, database: Database, boot: str = "first", wall_s: float = START_S) -> None:
        self.wall_s, self.steady_s = wall_s, 1000.0
        self.clock = StoreClock(
            database, wall=lambda: self.wall_s, steady=lambda: self.steady_s, boot=boot
        )

    def run(self, seconds: float, step_s: float = HOUR_S / 4) -> float:
        """Let time pass, and return the store's time."""
        while seconds > 0:
            passed_s = min(step_s, seconds)
            self.wall_s += passed_s
            self.steady_s += passed_s
            seconds -= passed_s
            self.clock.now_s()
        return self.clock.now_s()


def test_it_begins_with_the_newest_pass_of_an_earlier_version(
    store: PassStore, database: Database
) -> None:
    store.write([make_event("a"), make_event("b")], [])
    older = sa.update(passes).where(passes.c.id == "a").values(kept_s=START_S - DAY_S)
    newer = sa.update(passes).where(passes.c.id == "b").values(kept_s=START_S - HOUR_S)
    with database.writing() as connection:
        connection.execute(older)
        connection.execute(newer)

    assert Machine(database).clock.now_s() == START_S - HOUR_S


@pytest.mark.parametrize("step_s", [-1.0, HOUR_S, -40 * DAY_S])
def test_a_step_of_the_wall_clock_changes_nothing(database: Database, step_s: float) -> None:
    machine = Machine(database)
    machine.run(2 * HOUR_S)
    machine.wall_s += step_s

    assert machine.run(3 * HOUR_S) == pytest.approx(START_S + 5 * HOUR_S)


def test_processes_of_one_boot_agree(database: Database) -> None:
    first, second = Machine(database), Machine(database)
    first.run(HOUR_S)
    second.wall_s, second.steady_s = first.wall_s - DAY_S, first.steady_s

    assert second.clock.now_s() == pytest.approx(first.clock.now_s())


def test_the_time_off_is_added_when_the_wall_clock_was_steady_for_an_hour(
    database: Database,
) -> None:
    Machine(database).run(HOUR_S)
    again = Machine(database, "second", START_S + HOUR_S + 5 * DAY_S)

    assert again.clock.now_s() == pytest.approx(START_S + HOUR_S)
    assert again.run(SETTLED_S - MARK_EVERY_S) < START_S + 2 * HOUR_S
    assert again.run(2 * MARK_EVERY_S) == pytest.approx(
        START_S + 5 * DAY_S + 2 * HOUR_S + MARK_EVERY_S
    )
    assert again.run(DAY_S) == pytest.approx(START_S + 6 * DAY_S + 2 * HOUR_S + MARK_EVERY_S)


def test_a_wrong_clock_at_boot_adds_nothing(database: Database) -> None:
    Machine(database).run(HOUR_S)
    again = Machine(database, "second", START_S + HOUR_S + 1000 * DAY_S)
    again.run(HOUR_S / 2)
    again.wall_s -= 1000 * DAY_S - 600  # it was off for ten minutes

    assert again.run(3 * HOUR_S) == pytest.approx(START_S + 4.5 * HOUR_S + 600)


def test_a_clock_that_went_back_while_off_adds_nothing(database: Database) -> None:
    Machine(database).run(HOUR_S)
    again = Machine(database, "second", 0.0)

    assert again.run(3 * HOUR_S) == pytest.approx(START_S + 4 * HOUR_S)


def test_another_boot_within_the_hour_still_adds_the_time_off(database: Database) -> None:
    Machine(database).run(HOUR_S)
    again = Machine(database, "second", START_S + HOUR_S + DAY_S)
    again.run(HOUR_S / 2)
    last = Machine(database, "third", again.wall_s + DAY_S)

    assert last.run(2 * HOUR_S) == pytest.approx(START_S + 2 * DAY_S + 3.5 * HOUR_S)


def test_a_machine_that_starts_beside_others_adds_nothing(database: Database) -> None:
    first = Machine(database)
    first.run(HOUR_S)
    second = Machine(database, "second", first.wall_s + 7 * DAY_S)
    for _ in range(16):
        first.run(HOUR_S / 4)
        second.run(HOUR_S / 4)

    assert second.clock.now_s() == pytest.approx(START_S + 5 * HOUR_S, abs=HOUR_S / 4)


def test_a_database_from_a_backup_does_not_set_it_back(database: Database) -> None:
    machine = Machine(database)
    before_s = machine.run(HOUR_S)
    with database.writing() as connection:
        connection.execute(sa.delete(store_clock))
    machine.wall_s -= DAY_S

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
    machine = Machine(database)
    marks = [(machine.run(step_s, step_s), read_marks(database)) for step_s in (0.0, 59.0, 1.0)]
    marks += [(machine.run(MARK_EVERY_S, MARK_EVERY_S), read_marks(database))]

    assert [(now_s - START_S, mark_s - START_S) for now_s, (mark_s,) in marks] == [
        (0.0, 0.0),
        (59.0, 0.0),
        (60.0, 60.0),
        (120.0, 120.0),
    ]


def test_nobody_waits_while_another_thread_makes_a_mark(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end, writing = threading.Event(), threading.Event(), database.writing

    def write_slowly() -> Any:
        begun.set()
        assert end.wait(60)
        return writing()

    machine = Machine(database)
    machine.clock.now_s()
    machine.steady_s += HOUR_S
    monkeypatch.setattr(database, "writing", write_slowly)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(machine.clock.now_s)
        assert begun.wait(60)
        try:
            machine.steady_s += HOUR_S
            assert threads.submit(machine.clock.now_s).result(20) == START_S + 2 * HOUR_S
        finally:
            end.set()
        slow.result(60)


def test_it_never_goes_back(database: Database) -> None:
    machine = Machine(database)
    before_s = machine.run(HOUR_S)
    machine.steady_s -= HOUR_S

    assert machine.clock.now_s() >= before_s - MARK_EVERY_S
    machine.steady_s += HOUR_S + MARK_EVERY_S
    assert machine.clock.now_s() >= before_s


def test_it_runs_on_while_the_database_is_away(database: Database) -> None:
    machine = Machine(database)
    machine.run(HOUR_S)
    database.close()
    machine.clock._database = Database("sqlite:////none/passes.db")

    assert machine.run(HOUR_S) == pytest.approx(START_S + 2 * HOUR_S)


def test_without_a_database_there_is_no_time() -> None:
    with pytest.raises(StoreUnavailable):
        Machine(Database("sqlite:////none/passes.db")).clock.now_s()


def test_a_difference_is_told_once(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(database)
    machine.run(HOUR_S)
    machine.wall_s += DAY_S
    with caplog.at_level(logging.WARNING):
        machine.run(HOUR_S)

    assert [record.message.partition(" from")[0] for record in caplog.records] == [
        "the wall clock is +86400 s"
    ]
    assert machine.clock.ahead_s == pytest.approx(DAY_S)


@pytest.mark.parametrize(("ahead_s", "is_told"), [(59.0, False), (60.0, True), (-60.0, True)])
def test_a_difference_of_a_minute_is_told(
    database: Database, caplog: pytest.LogCaptureFixture, ahead_s: float, is_told: bool
) -> None:
    machine = Machine(database)
    machine.run(HOUR_S)
    machine.wall_s += ahead_s
    machine.run(MARK_EVERY_S)

    assert (f"the wall clock is {ahead_s:+.0f} s from" in caplog.text) == is_told


def test_a_boot_has_one_id() -> None:
    assert read_boot() == read_boot()
    assert read_boot().startswith(store_clock_module.BOOT_ID.read_text().strip())


def test_a_machine_that_tells_no_boot_has_another_one_for_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_clock_module, "BOOT_ID", tmp_path / "missing")
    assert read_boot() != read_boot()


@given(
    st.lists(
        st.tuples(
            st.floats(0, 2 * HOUR_S),
            st.sampled_from([0.0, 0.0, 5.0, -5.0, HOUR_S, -HOUR_S, 40 * DAY_S, -40 * DAY_S]),
        ),
        max_size=40,
    )
)
def test_within_a_boot_no_steps_hasten_or_delay_it(moments: list[tuple[float, float]]) -> None:
    mark = Mark("boot", START_S, START_S, 0.0, 0.0)
    for passed_s, step_s in moments:
        mark = mark.advance(mark.wall_s + passed_s + step_s, mark.steady_s + passed_s, None)

    assert mark.value_s == pytest.approx(START_S + sum(passed_s for passed_s, _ in moments))


def test_the_newest_time_of_all_boots_counts(database: Database) -> None:
    first = Machine(database)
    first.run(HOUR_S)
    Machine(database, "idle", first.wall_s).clock.now_s()
    first.run(5 * HOUR_S)

    late = Machine(database, "idle", first.wall_s)
    assert late.clock.now_s() == pytest.approx(START_S + 6 * HOUR_S)
    third = Machine(database, "third", first.wall_s)
    assert third.clock.now_s() == pytest.approx(START_S + 6 * HOUR_S)
    third.run(HOUR_S)
    again = Machine(database, "idle", third.wall_s)
    assert again.clock.now_s() == pytest.approx(START_S + 7 * HOUR_S)
    third.run(HOUR_S)
    fourth = Machine(database, "fourth", third.wall_s)
    assert fourth.clock.now_s() == pytest.approx(START_S + 8 * HOUR_S)


def test_marks_of_boots_long_ago_are_forgotten(database: Database) -> None:
    Machine(database).run(HOUR_S)
    machine = Machine(database, "second", START_S + HOUR_S)
    machine.run(90 * DAY_S, 10 * DAY_S)
    assert len(read_marks(database)) == 2
    machine.run(HOUR_S)

    assert read_marks(database) == [START_S + 90 * DAY_S + 2 * HOUR_S]


def read_marks(database: Database) -> list[float]:
    """Return the store's times of all boots."""
    with database.reading() as connection:
        return list(connection.execute(sa.select(store_clock.c.value_s)).scalars())
