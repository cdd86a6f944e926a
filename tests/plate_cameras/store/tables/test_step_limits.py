"""Steps on a database that does not answer end by a timeout and close its connections."""

import gc
import os
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.bounded_calls import BoundedCalls
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.postgresql_connections import StepLimits, shut_down
from tests.plate_cameras.store.postgresql_server import (
    QuickPostgres,
    running_postgresql,
)
from tests.plate_cameras.store.stored_events import REQUESTER, WEBHOOK, find_ids, make_event
from tests.virtual_time import Clock
from tests.waiting import until

AWAY_S = 10.0


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Return a connection to a server that never answers."""
    near, far = socket.socketpair()
    yield near
    near.close()
    far.close()


def test_a_wait_ends_when_the_time_of_its_step_is_over(silent: socket.socket) -> None:
    clock = Clock()
    limits = StepLimits(clock)

    def wait_in_vain() -> None:
        with limits.limit(8.0):
            limits.add(silent)
            clock.now_s += 8.0
            assert silent.recv(1) == b""  # ends because the socket is shut down
            raise ConnectionError("nothing was received")

    with pytest.raises(StoreUnavailable, match="given up after 8 s"):
        wait_in_vain()


def test_a_step_within_its_time_keeps_its_connection(silent: socket.socket) -> None:
    clock = Clock()
    limits = StepLimits(clock)
    with limits.limit(8.0):
        limits.add(silent)
        clock.now_s += 7.9
        time.sleep(0.6)  # two looks of the thread
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.recv(1)


def test_an_error_within_the_time_stays_what_it_is() -> None:
    with pytest.raises(KeyError), StepLimits(Clock()).limit(8.0):
        raise KeyError("a bug")


def test_a_connection_that_was_closed_is_left_alone(silent: socket.socket) -> None:
    clock = Clock()
    limits = StepLimits(clock)
    with limits.limit(1.0) as step:
        limits.add(silent)
        limits.forget(silent)
        clock.now_s += 2.0
        until(lambda: step.is_over, "the time of the step to be over")
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.recv(1)
        with pytest.raises(StoreUnavailable):
            limits.add(silent)


def test_the_limit_of_an_outer_step_counts() -> None:
    clock = Clock()
    limits = StepLimits(clock)
    assert limits.left_s(3.0) == 3.0
    with limits.limit(8.0), limits.limit(20.0):
        clock.now_s += 6.0
        assert limits.left_s(3.0) == 2.0
        clock.now_s += 6.0
        assert limits.left_s(3.0) == 0.0


def test_a_closed_socket_is_no_error(silent: socket.socket) -> None:
    silent.close()
    shut_down(silent)


def test_a_call_that_hangs_is_given_up(release: threading.Event) -> None:
    dropped_results: list[str] = []
    calls = BoundedCalls("the storage", most=1, limit_s=0.05)

    def hang() -> str:
        release.wait(60)
        return "late"

    with pytest.raises(StoreUnavailable, match="the storage does not answer"):
        calls.run(hang, drop=dropped_results.append)
    with pytest.raises(StoreUnavailable):  # its thread is taken
        calls.run(lambda: "early")
    release.set()
    until(lambda: dropped_results == ["late"], "the late result to be dropped")
    assert calls.run(lambda: "early", limit_s=60) == "early"


def test_a_call_returns_or_raises_what_it_does() -> None:
    calls = BoundedCalls("the storage", most=2, limit_s=60)

    assert calls.run_all([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]
    with pytest.raises(FileNotFoundError):
        calls.run(lambda: Path("/none").stat())


@pytest.fixture
def own_server() -> Iterator[QuickPostgres]:
    """Return a server that a test may stop."""
    with running_postgresql() as server:
        yield server
        signal_all(server, signal.SIGCONT)


def signal_all(server: QuickPostgres, number: signal.Signals) -> None:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in (*map(int, children), server.pid):
        os.kill(pid, number)


def seconds_of(call: Callable[[], object]) -> float:
    started_s = time.monotonic()
    call()
    return time.monotonic() - started_s


@pytest.mark.server
def test_events_go_to_the_spool_while_postgresql_is_stopped(
    own_server: QuickPostgres, opening: Callable[..., PassStore]
) -> None:
    store = opening(own_server.create_database("stopped"))
    store.write([make_event("before")], [WEBHOOK])
    signal_all(own_server, signal.SIGSTOP)

    first_s = seconds_of(lambda: store.write([make_event("first")], [WEBHOOK]))
    next_s = seconds_of(lambda: store.write([make_event("next")], [WEBHOOK]))
    assert (first_s < AWAY_S, next_s < AWAY_S) == (True, True)
    assert len(store.writer.spool) == 2
    assert not store.writer.is_database_up

    signal_all(own_server, signal.SIGCONT)
    until(lambda: store.replay_spool() == 0, "the spool to be empty")
    assert sorted(find_ids(store, PassQuery())) == ["before", "first", "next"]


@pytest.mark.server
def test_a_transaction_that_postgresql_does_not_end_is_given_up(
    own_server: QuickPostgres,
) -> None:
    database = Database(own_server.create_database("amid"), step_s=1.0)

    def read_amid() -> None:
        with database.reading() as connection:
            signal_all(own_server, signal.SIGSTOP)
            connection.exec_driver_sql("SELECT 1")

    started_s = time.monotonic()
    with pytest.raises(StoreUnavailable, match="does not answer"):
        read_amid()
    assert time.monotonic() - started_s < AWAY_S
    signal_all(own_server, signal.SIGCONT)
    database.check()
    database.close()


@pytest.mark.server
def test_a_statement_that_takes_too_long_is_ended_by_the_server(shared_url: str) -> None:
    database = Database(shared_url, step_s=0.5)
    with pytest.raises(StoreUnavailable), database.reading() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    with database.reading(30.0) as connection:
        connection.exec_driver_sql("SELECT pg_sleep(0.7)")
    with database.free(30.0) as connection:
        connection.exec_driver_sql("SELECT pg_sleep(0.7)")
    with pytest.raises(StoreUnavailable), database.reading() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    database.close()


@pytest.mark.server
def test_a_wait_for_a_free_connection_ends(shared_url: str) -> None:
    database = Database(shared_url)
    connections = [database.engine.connect() for _ in range(15)]

    with pytest.raises(StoreUnavailable):
        database.check()
    for connection in connections:
        connection.close()
    database.check()
    database.close()


def test_a_search_says_that_the_database_is_away(opening: Callable[..., PassStore]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        url = f"postgresql+psycopg://plates@127.0.0.1:{silent.getsockname()[1]}/passes"
        store = opening(url)
        with pytest.raises(StoreUnavailable):
            store.search(PassQuery(), REQUESTER)


class HeldConnection:
    """A connection that a call holds while it waits."""


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Switch garbage collection off, so that only reference counts free objects."""
    gc.disable()
    yield
    gc.enable()


def test_a_call_that_fails_after_it_was_given_up_keeps_nothing_open(no_collection: None) -> None:
    references: list[weakref.ref[HeldConnection]] = []
    may_fail = threading.Event()

    def connect() -> None:
        connection = HeldConnection()
        references.append(weakref.ref(connection))
        may_fail.wait()
        raise OSError("the server has closed it")

    with pytest.raises(StoreUnavailable, match="the database does not answer"):
        BoundedCalls("the database", most=1, limit_s=0.01).run(connect)
    assert references[0]() is not None
    may_fail.set()
    until(lambda: references[0]() is None, "the connection to be closed")
