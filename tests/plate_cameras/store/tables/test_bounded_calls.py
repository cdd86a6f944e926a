"""Calls with a timeout for the wait."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.tables.bounded_calls import BoundedCalls
from tests.waiting import until


class Connection:
    """A connection that a call holds while it waits."""


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Switch garbage collection off, so that only reference counts free objects."""
    gc.disable()
    yield
    gc.enable()


def test_a_call_that_fails_after_it_was_given_up_keeps_nothing_open(no_collection: None) -> None:
    held: list[weakref.ref[Connection]] = []
    may_fail = threading.Event()

    def connect() -> None:
        connection = Connection()
        held.append(weakref.ref(connection))
        may_fail.wait()
        raise OSError("the server has closed it")

    with pytest.raises(StoreUnavailable, match="the database does not answer"):
        BoundedCalls("the database", most=1, limit_s=0.01).run(connect)
    assert held[0]() is not None
    may_fail.set()
    until(lambda: held[0]() is None, "the connection to be closed")
