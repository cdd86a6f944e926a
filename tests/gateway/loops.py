"""One event loop for all tests with grpc.aio.

What gRPC's one queue of events holds for a server or channel of an earlier test it hands to the
loop of that test, which must not be closed by then.
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
