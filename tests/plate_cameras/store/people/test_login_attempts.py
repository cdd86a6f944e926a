"""Limits on logins in both databases, with a clock that the test moves."""

import threading

import pytest
import sqlalchemy as sa

from plate_cameras.store.people.login_attempts import AttemptLimit, LoginAttempts
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import login_attempts
from tests.plate_cameras.store.stored_events import Clock

ANNA = AttemptLimit("name anna", 3, 10)
BORIS = AttemptLimit("name boris", 3, 10)
DESK = AttemptLimit("address 10.0.0.5", 4, 1)


@pytest.fixture
def attempts(database: Database, clock: Clock) -> LoginAttempts:
    return LoginAttempts(database, clock)


def waits(attempts: LoginAttempts, *limits: AttemptLimit, times: int) -> list[float]:
    return [attempts.take(limits) for _ in range(times)]


def test_an_attempt_is_allowed_again_after_each_interval(
    attempts: LoginAttempts, clock: Clock
) -> None:
    waits(attempts, ANNA, times=3)
    clock.now_s += 9
    assert waits(attempts, ANNA, times=1) == [1]
    clock.now_s += 1
    assert waits(attempts, ANNA, times=2) == [0, 10]
    clock.now_s += 1000
    assert waits(attempts, ANNA, times=4) == [0, 0, 0, 10]


def test_refused_attempts_do_not_count(attempts: LoginAttempts, clock: Clock) -> None:
    waits(attempts, ANNA, times=100)
    clock.now_s += 10
    assert waits(attempts, ANNA, times=1) == [0]


def test_an_attempt_that_succeeds_is_given_back(attempts: LoginAttempts) -> None:
    waits(attempts, ANNA, DESK, times=3)
    attempts.give_back([ANNA, DESK])
    assert waits(attempts, ANNA, times=2) == [0, 10]
    attempts.give_back([ANNA]), attempts.give_back([ANNA]), attempts.give_back([ANNA])
    assert waits(attempts, ANNA, DESK, times=4) == [0, 0, 1, 1]


def test_each_subject_has_its_own_limit(attempts: LoginAttempts) -> None:
    assert waits(attempts, ANNA, times=4) == [0, 0, 0, 10]
    assert waits(attempts, BORIS, times=1) == [0]


def test_one_limit_is_enough_to_wait(attempts: LoginAttempts) -> None:
    assert waits(attempts, ANNA, DESK, times=4) == [0, 0, 0, 10]
    assert waits(attempts, BORIS, DESK, times=2) == [0, 1]
    assert waits(attempts, BORIS, times=3) == [0, 0, 10]  # nothing was counted for Boris alone


def test_other_processes_share_the_limits(attempts: LoginAttempts, url: str, clock: Clock) -> None:
    elsewhere = Database(url)
    waits(attempts, ANNA, times=3)
    assert LoginAttempts(elsewhere, clock).take([ANNA]) == 10
    elsewhere.close()


def test_attempts_at_the_same_moment_pass_no_limit(attempts: LoginAttempts) -> None:
    together, taken = threading.Barrier(8), []

    def take() -> None:
        together.wait(10)
        taken.append(attempts.take([ANNA, DESK]))

    threads = [threading.Thread(target=take) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join(30) for thread in threads]
    assert sorted(taken) == [0, 0, 0, 10, 10, 10, 10, 10]


def test_the_table_holds_no_names_and_forgets(
    attempts: LoginAttempts, database: Database, clock: Clock
) -> None:
    waits(attempts, ANNA, DESK, times=2)
    rows = sa.select(login_attempts.c.subject)
    with database.reading() as connection:
        assert sorted(connection.execute(rows).scalars()) == sorted([ANNA.digest, DESK.digest])
    clock.now_s += 20
    waits(attempts, BORIS, times=1)
    with database.reading() as connection:
        assert list(connection.execute(rows).scalars()) == [BORIS.digest]
