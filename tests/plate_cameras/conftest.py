"""Fixtures of the cameras' tests, and tests that are coroutine functions."""

import asyncio
import inspect
import socket
import threading
from collections.abc import Coroutine, Iterator

import pytest

MAX_TEST_S = 120.0
"""A test that is a coroutine function is cancelled after this time."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in an event loop of its own."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    names = inspect.signature(test).parameters
    asyncio.run(_limit(test(**{name: pyfuncitem.funcargs[name] for name in names})))
    return True


async def _limit(test: Coroutine[object, object, None]) -> None:
    """Await a test without another task, which tests that look at all tasks would see."""
    this = asyncio.current_task()
    assert this
    asyncio.get_running_loop().call_later(MAX_TEST_S, this.cancel)
    await test


@pytest.fixture
def free_port() -> int:
    """A TCP port of loopback on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Return an event that releases what a test blocks; it is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()
