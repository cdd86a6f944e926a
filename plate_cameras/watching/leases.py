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
from functools import partial
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
class _HeldLease:
    epoch: int
    moment_s: float = float("-inf")
    """`Frame.moment_s` of the last frame at which the lease was certainly valid."""


@dataclass(frozen=True)
class SharedCameras:
    """The cameras to share, and how they are followed.

    Attributes:
        names: Returns the names of all cameras of the configuration.
        follow: Follows exactly these cameras; the passes of others are closed.
        count_open: Returns the number of vehicles that a camera shows now.
        max_cameras: Most cameras that this watcher takes; 0 for no limit.
    """

    names: Callable[[], Collection[str]]
    follow: Follow
    count_open: Callable[[str], int]
    max_cameras: int = 0


class DatabaseCalls:
    """Makes one call after the other, in a thread that keeps no process from ending.

    It is not one of the store's threads: the database may be slow to take passes.
    """

    def __init__(self) -> None:
        self._last_call: asyncio.Future[Any] | None = None

    async def run(self, step: Callable[[], Answer], timeout_s: float) -> Answer:
        """Return the result of a call.

        Raises:
            StoreUnavailable: It has not ended in time, or the call before it. It goes on, and its
                result is not used.
        """
        if self._last_call is not None:
            await _wait(self._last_call, timeout_s)
        result: Future[Answer] = Future()
        thread = Thread(target=run_for_future, args=(result, step), name="leases", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise StoreUnavailable(f"no thread can be started: {error}") from error
        self._last_call = answer = asyncio.wrap_future(result)
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
        cameras: SharedCameras,
        *,
        watcher: str = "",
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self.watcher = watcher or make_watcher_name()
        self.lost = self.failures = 0
        self.last_error = ""
        self._leases, self._cameras, self._clock = leases, cameras, clock
        self._held_leases: dict[str, _HeldLease] = {}
        self._followed_names: set[str] | None = set()  # None: an attempt to change it has failed
        self._epochs: dict[str, int] = {}  # as the last renewal had them
        self._valid_until_s = self._asked_s = float("-inf")
        self._settled_since_s: float | None = None  # renewals have succeeded since then
        self._changed_s = float("-inf")
        self._change: asyncio.Task[None] | None = None
        self._note = make_note("leases of cameras cannot be renewed")
        self._note_change = make_note("the cameras of this watcher cannot change")
        self._has_asked = asyncio.Event()
        self._calls = DatabaseCalls()

    async def run(self) -> None:
        """Renew, take and give back leases until the task is cancelled."""
        while True:
            is_short = await self.renew()
            await asyncio.sleep(SHORT_ROUND_S if is_short else ROUND_S)

    async def renew(self) -> bool:
        """Renew the leases once. Return whether other watchers still have to give some back."""
        asked_s = self._clock()
        # After a fault of the database, others must have time to renew their leases.
        settled_s = 0.0 if self._settled_since_s is None else asked_s - self._settled_since_s
        is_settled = settled_s >= self._leases.lease_s
        hold = partial(self._leases.hold, most=self._cameras.max_cameras, takes=is_settled)
        try:
            names = self._cameras.names()
            holding = await self._calls.run(lambda: hold(self.watcher, names), CALL_S)
        except Exception as error:  # whatever it is, the next round asks again
            self._note_failure(error)
            return False
        finally:
            self._asked_s = asked_s
            self._has_asked.set()
        if self._settled_since_s is None:
            self._settled_since_s = asked_s
        self.last_error = ""
        self._note(None)
        self._valid_until_s = asked_s + self._leases.lease_s - MARGIN_S
        self._epochs = dict(holding.epochs)
        if (self._change is None or self._change.done()) and asked_s >= self._changed_s:
            self._change = asyncio.create_task(self._try_to_adjust(holding))
        return is_settled and len(holding.epochs) < holding.quota

    async def permit(self, frame: Frame) -> bool:
        """Tell whether a frame may be used; note it if the lease is certainly valid.

        After the process was frozen, this waits for the next renewal.
        """
        deadline_s = self._clock() + MAX_WAIT_S
        while self._asked_s < self._valid_until_s <= self._clock() < deadline_s:
            self._has_asked.clear()
            await is_set_within(self._has_asked, MAX_WAIT_S)
        lease = self._held_leases.get(frame.camera)
        if lease is None or self._epochs.get(frame.camera) != lease.epoch:
            return False
        if self._clock() < self._valid_until_s:
            lease.moment_s = max(lease.moment_s, frame.moment_s)
        return True

    def claim(self, event: PassEvent) -> PassEvent:
        """Return an event with the lease under which it was seen."""
        vehicle_pass = event.vehicle_pass
        lease = self._held_leases.get(vehicle_pass.camera) or _HeldLease(0)
        last_s = vehicle_pass.last_moment_s
        last_s = vehicle_pass.last_seen_s if last_s is None else last_s
        return replace(event, claim=LeaseClaim(lease.epoch, last_s <= lease.moment_s))

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
        """Follow the cameras that are held, and give back those beyond the quota."""
        leases = self._held_leases
        lost_names = {
            name for name, lease in leases.items() if holding.epochs.get(name) != lease.epoch
        }
        if lost_names:
            await self._drop(lost_names)
            LOG.warning("%d cameras have another watcher now", len(lost_names))
            self.lost += len(lost_names)
        for name, epoch in holding.epochs.items():
            leases.setdefault(name, _HeldLease(epoch))
        if surplus := self._choose_surplus(len(leases) - holding.quota):
            await self._drop(surplus)
            with suppress(PlateError):  # the next round holds them still, and gives them back
                give_back = self._leases.give_back
                await self._calls.run(lambda: give_back(self.watcher, surplus), CALL_S)
            self._changed_s = self._clock()
        elif self._followed_names != leases.keys():
            await self._follow({*leases})

    def _choose_surplus(self, count: int) -> set[str]:
        """Return cameras to give back, those without vehicles first."""
        names = sorted(self._held_leases, key=lambda name: (self._cameras.count_open(name), name))
        return {*names[: max(count, 0)]}

    async def _drop(self, names: Collection[str]) -> None:
        """Stop following cameras; their closing events still have their leases."""
        await self._follow(self._held_leases.keys() - set(names))
        for name in names:
            del self._held_leases[name]

    async def _follow(self, names: set[str]) -> None:
        self._followed_names = None
        await self._cameras.follow(names)
        self._followed_names = names

    def _note_failure(self, error: Exception) -> None:
        self._note(error)
        self.last_error = str(error) or type(error).__name__
        self._settled_since_s = None


def make_watcher_name() -> str:
    """Return a name that no other watcher has. It contains machine and process."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
