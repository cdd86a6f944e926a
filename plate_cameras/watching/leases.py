"""Shares the cameras of a configuration with other watchers, by leases in the database.

A watcher renews its leases twice a second. If it cannot, it keeps following its cameras: either the
database is away for all, and nobody can take them, or another watcher takes them after the lease's
time. The database decides afterwards: see `LeaseFence`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, TypeVar

from orchestrator.errors import PlateError
from orchestrator.host.daemon_threads import run_for_future
from plate_cameras.background_tasks import make_note
from plate_cameras.clocks import is_set_within, steady_s
from plate_cameras.frames import Frame
from plate_cameras.passes import LeaseClaim, PassEvent
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.leases.camera_leases import CameraLeases, Holding

LOG = logging.getLogger(__name__)
ROUND_S = 0.5
"""Time between two renewals."""
SHORT_ROUND_S = 0.25
"""Time between two renewals while other watchers have cameras to give back."""
MARGIN_S = 0.5
"""A lease counts as valid for so much less than its time: clocks may run at different speeds."""
MAX_WAIT_S = 2.0
"""Longest wait of a frame for the first renewal after the process was frozen."""
CALL_S, LEAVE_S = 10.0, 5.0
"""Longest wait for an answer of the database, and for each step of leaving."""

Answer = TypeVar("Answer")
Follow = Callable[[Collection[str]], Awaitable[None]]


@dataclass
class _Held:
    epoch: int
    moment_s: float = float("-inf")
    """`Frame.moment_s` of the last frame at which the lease was certainly valid."""


@dataclass(frozen=True)
class Shared:
    """The cameras to share, and how they are followed.

    Attributes:
        follow: Follows exactly these cameras; the passes of others are closed.
        most: Most cameras that this watcher takes; 0 for no limit.
    """

    names: Callable[[], Collection[str]]
    follow: Follow
    count_open: Callable[[str], int]
    most: int = 0


class DatabaseCalls:
    """Makes one call after the other, in a thread that keeps no process from ending.

    It is not one of the store's threads: the database may be slow to take passes.
    """

    def __init__(self) -> None:
        self._last: asyncio.Future[Any] | None = None

    async def run(self, step: Callable[[], Answer], timeout_s: float) -> Answer:
        """Return what a call returns.

        Raises:
            StoreUnavailable: It has not ended in time, or the one before. It goes on, and what it
                returns is not used.
        """
        if self._last is not None:
            await _wait(self._last, timeout_s)
        result: Future[Answer] = Future()
        thread = Thread(target=run_for_future, args=(result, step), name="leases", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise StoreUnavailable(f"no thread can be started: {error}") from error
        self._last = answer = asyncio.wrap_future(result)
        answer.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        await _wait(answer, timeout_s)
        return answer.result()


async def _wait(call: asyncio.Future[Any], timeout_s: float) -> None:
    if not (await asyncio.wait({call}, timeout=timeout_s))[0]:
        raise StoreUnavailable(f"the database has not answered for {timeout_s:g} s")


class CameraSharing:
    """Holds the leases of one watcher.

    Args:
        leases: The leases.

    Attributes:
        lost: Number of leases that others have taken.
        last_error: Why the last renewal failed; empty after a success.
        failures: Number of times that the cameras of this watcher could not be changed.
    """

    def __init__(
        self,
        leases: CameraLeases,
        shared: Shared,
        *,
        watcher: str = "",
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self.watcher = watcher or make_watcher_name()
        self.lost = self.failures = 0
        self.last_error = ""
        self._leases, self._shared, self._clock = leases, shared, clock
        self._held: dict[str, _Held] = {}
        self._followed: set[str] | None = set()  # None: an attempt to change it has failed
        self._epochs: dict[str, int] = {}  # as the last renewal had them
        self._valid_until = self._asked_at = float("-inf")
        self._since: float | None = None  # renewals have succeeded since then
        self._changed_at = float("-inf")
        self._change: asyncio.Task[None] | None = None
        self._note = make_note("leases of cameras cannot be renewed")
        self._note_change = make_note("the cameras of this watcher cannot change")
        self._asked = asyncio.Event()
        self._calls = DatabaseCalls()

    async def run(self) -> None:
        """Renew, take and give back leases until the task is cancelled."""
        while True:
            is_short = await self.renew()
            await asyncio.sleep(SHORT_ROUND_S if is_short else ROUND_S)

    async def renew(self) -> bool:
        """Renew the leases once. Return whether other watchers still have to give some back."""
        asked_at = self._clock()
        # After a fault of the database, others must have time to renew what they have.
        is_settled = self._since is not None and asked_at - self._since >= self._leases.lease_s
        try:
            names, most = self._shared.names(), self._shared.most
            holding = await self._calls.run(
                lambda: self._leases.hold(self.watcher, names, most=most, takes=is_settled), CALL_S
            )
        except Exception as error:  # whatever it is, the next round asks again
            self._note_failure(error)
            return False
        finally:
            self._asked_at = asked_at
            self._asked.set()
        if self._since is None:
            self._since = asked_at
        self.last_error = ""
        self._note(None)
        self._valid_until = asked_at + self._leases.lease_s - MARGIN_S
        self._epochs = dict(holding.epochs)
        if (self._change is None or self._change.done()) and asked_at >= self._changed_at:
            self._change = asyncio.create_task(self._try_to_adjust(holding))
        return is_settled and len(holding.epochs) < holding.quota

    async def permit(self, frame: Frame) -> bool:
        """Tell whether a frame may be used; note it if the lease is certainly valid.

        After the process was frozen, this waits for the next renewal.
        """
        ends = self._clock() + MAX_WAIT_S
        while self._asked_at < self._valid_until <= self._clock() < ends:
            self._asked.clear()
            await is_set_within(self._asked, MAX_WAIT_S)
        held = self._held.get(frame.camera)
        if held is None or self._epochs.get(frame.camera) != held.epoch:
            return False
        if self._clock() < self._valid_until:
            held.moment_s = max(held.moment_s, frame.moment_s)
        return True

    def claim(self, event: PassEvent) -> PassEvent:
        """Return an event with the lease under which it was seen."""
        passed, held = event.vehicle_pass, self._held.get(event.vehicle_pass.camera) or _Held(0)
        last_s = passed.last_seen_s if passed.last_moment_s is None else passed.last_moment_s
        return replace(event, claim=LeaseClaim(held.epoch, last_s <= held.moment_s))

    async def leave(self) -> None:
        """Give all cameras back; to be called when none is followed any more."""
        if self._change:
            self._change.cancel()
            await asyncio.wait({self._change}, timeout=LEAVE_S)
        try:
            await self._calls.run(lambda: self._leases.leave(self.watcher), LEAVE_S)
        except Exception as error:
            LOG.warning("cameras are not given back; their leases end by themselves: %s", error)

    async def _try_to_adjust(self, holding: Holding) -> None:
        try:
            await self._adjust(holding)
        except Exception as error:  # such as a camera that cannot be opened; the next round tries
            self.failures += 1
            self._note_change(error)
        else:
            self._note_change(None)

    async def _adjust(self, holding: Holding) -> None:
        """Follow what is held, and give back what is more than the share."""
        lost = {n for n, one in self._held.items() if holding.epochs.get(n) != one.epoch}
        if lost:
            await self._drop(lost)
            LOG.warning("%d cameras have another watcher now", len(lost))
            self.lost += len(lost)
        self._held |= {n: _Held(e) for n, e in holding.epochs.items() if n not in self._held}
        if surplus := self._choose_surplus(len(self._held) - holding.quota):
            await self._drop(surplus)
            with suppress(PlateError):  # the next round holds them still, and gives them back
                give_back = self._leases.give_back
                await self._calls.run(lambda: give_back(self.watcher, surplus), CALL_S)
            self._changed_at = self._clock()
        elif self._followed != self._held.keys():
            await self._follow({*self._held})

    def _choose_surplus(self, count: int) -> set[str]:
        """Return cameras to give back, those without vehicles first."""
        names = sorted(self._held, key=lambda n: (self._shared.count_open(n), n))
        return {*names[: max(count, 0)]}

    async def _drop(self, names: Collection[str]) -> None:
        """Stop following cameras; their closing events still have their leases."""
        await self._follow(self._held.keys() - set(names))
        for name in names:
            del self._held[name]

    async def _follow(self, names: set[str]) -> None:
        self._followed = None
        await self._shared.follow(names)
        self._followed = names

    def _note_failure(self, error: Exception) -> None:
        self._note(error)
        self.last_error = str(error) or type(error).__name__
        self._since = None


def make_watcher_name() -> str:
    """Return a name that no other watcher has, and that tells machine and process."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
