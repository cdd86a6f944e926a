"""The store's clock advances with time, whatever the wall clocks of the machines say."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.store.store_clock import (
    MARK_EVERY_S,
    SETTLED_S,
    GivenClock,
    Mark,
    StoreClock,
    read_boot,
)
from orchestrator.cameras.store.upkeep_schema import store_clock

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


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database(url)
    yield opened
    opened.close()


def test_it_begins_with_the_unix_time(database: Database) -> None:
    assert Machine(database).clock.now_s() == START_S


@pytest.mark.parametrize("step_s", [1.0, -1.0, HOUR_S, -HOUR_S, 40 * DAY_S, -40 * DAY_S])
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

    assert [one.message.partition(" from")[0] for one in caplog.records] == [
        "the wall clock is +86400 s"
    ]
    assert machine.clock.ahead_s == pytest.approx(DAY_S)


def test_a_boot_has_one_id() -> None:
    assert read_boot() == read_boot()


def test_a_given_clock_is_both() -> None:
    assert GivenClock(lambda: 5.0).now_s() == 5.0


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


def test_marks_of_boots_long_ago_are_forgotten(database: Database) -> None:
    Machine(database).run(HOUR_S)
    machine = Machine(database, "second", START_S + HOUR_S)
    machine.run(89 * DAY_S, DAY_S)
    assert read_boots(database) == ["first", "second"]
    machine.run(2 * DAY_S, DAY_S)

    assert read_boots(database) == ["second"]


def read_boots(database: Database) -> list[str]:
    with database.reading() as connection:
        found = sa.select(store_clock.c.boot).order_by(store_clock.c.boot)
        return list(connection.execute(found).scalars())
