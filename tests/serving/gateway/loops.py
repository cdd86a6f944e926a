"""One event loop for all tests with grpc.aio.

gRPC has one queue of events for all loops. It passes events of an earlier test's server or channel
to that test's loop. So that loop must not be closed by then.
"""

import asyncio
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns."""
    return _loop().run_until_complete(coroutine)
