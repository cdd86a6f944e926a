"""The outbox: events that wait for their receivers, and the thread that its calls run in.

An event enters the outbox in the same transaction in which its pass is stored. So there is no pass
without its events, and no event without its pass.

Source: C. Richardson, "Microservices Patterns", 2018 (transactional outbox).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from orchestrator.errors import PlateError
from orchestrator.host.daemon_threads import DaemonThreads
from plate_cameras.clocks import wait_through


@dataclass(frozen=True)
class Delivery:
    """One event on its way to one sink.

    Attributes:
        id: Id of the event, the same in each attempt. A receiver ignores ids that it has had.
        document: The event, see `plate_cameras.passes`.
        created_s: Time at which the event was stored, by the clock of the outbox.
    """

    id: str
    sink: str
    document: Mapping[str, Any]
    created_s: float
    attempts: int = 0

    @property
    def pass_id(self) -> str:
        """Id of the pass that the event is about."""
        return str(self.document["data"]["id"])


class Outbox(Protocol):
    """Hands out deliveries and records their outcomes. Its calls may block."""

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        """Take deliveries of a sink that are due, the oldest first.

        Nobody else gets them until the lease has run out. A delivery waits until earlier ones of
        the same pass to the same sink are confirmed or abandoned.
        """

    def confirm(self, deliveries: Sequence[Delivery], now_s: float) -> None:
        """Record that the receiver has accepted deliveries, which are all of one sink."""

    def postpone(self, delivery: Delivery, reason: str, due_s: float) -> None:
        """Record a failed attempt; the delivery is due again at a Unix time."""

    def release(self, delivery: Delivery, due_s: float) -> None:
        """Give a claimed delivery back unsent. It is due at a Unix time."""

    def hasten(self, sink: str, now_s: float) -> None:
        """Make the postponed deliveries of a sink due now: its receiver answers again."""

    def abandon(self, delivery: Delivery, reason: str, now_s: float) -> None:
        """Record that a delivery will not be tried again, unless it is replayed."""

    def waiting(self, sink: str) -> int:
        """Return the number of deliveries that a sink has not accepted yet."""


LIMIT_S = 10.0
"""Longest wait for one call. A database that cannot be reached reports this earlier."""
ResultT = TypeVar("ResultT")


class OutboxTimeout(PlateError):  # noqa: N818 - a state of the outbox
    """The outbox does not answer. The result of the call is not known."""


class OutboxThread:
    """Runs calls of the outbox one after the other, in a thread of their own.

    A call that has begun ends: a cancellation of the caller is raised after it. So nobody is
    cancelled between a change of the outbox and what follows from it.
    """

    def __init__(self, name: str) -> None:
        self._threads = DaemonThreads(1, name)
        self._last: Future[Any] | None = None

    @property
    def is_busy(self) -> bool:
        """True if a call hangs whose caller no longer waits."""
        return self._last is not None and not self._last.done()

    async def run(self, call: Callable[[], ResultT], *, is_needed: bool = False) -> ResultT:
        """Run a call and return its result.

        Args:
            call: The call.
            is_needed: True if it must run, however late. Any other call does not begin when nobody
                waits for it any more.

        Raises:
            OutboxTimeout: It, or an earlier one, has not ended within the limit.
        """
        self._last = running = self._threads.submit(call)
        cancellation = await wait_through([_watch(running)], LIMIT_S)
        is_late = not running.done()
        if is_late and not is_needed:
            running.cancel()
        if cancellation:
            raise cancellation
        if is_late:
            raise OutboxTimeout(f"no answer of the database within {LIMIT_S:g} s")
        return running.result()


def _watch(running: Future[Any]) -> asyncio.Future[None]:
    """Return a future that ends with a call. Nobody cares if it ends after the event loop."""
    loop = asyncio.get_running_loop()
    ending: asyncio.Future[None] = loop.create_future()

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(ending.set_result, None)

    running.add_done_callback(tell)
    return ending
