"""Who may come in, whose turn it is, and how the refused are slowed down. One event loop's own."""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

from orchestrator.errors import SettingsError
from orchestrator.gateway.clients import Client
from orchestrator.gateway.options import Limits
from orchestrator.gateway.refusals import RETRY_AFTER_S, Full, TooMany

TOLD_AT_ONCE = 20
"""Refusals a second that are told without a pause."""
HOLD_S = 1.0
MOST_HELD = 2000
FEWEST_TO_SWEEP = 1000


@dataclass(eq=False)
class Place:
    """A call that is inside, from its headers to the end of its answer.

    Attributes:
        client: Whose call.
        size: Of its body, bytes; 0 until room was made for it.
    """

    client: Client
    size: int = 0


@dataclass(frozen=True)
class Counts:
    """What is going on now.

    Attributes:
        inside: Calls that were let in.
        waiting: Those of them that wait for their turn.
        in_work: Those whose turn it is.
        held: Refused calls that have not been told yet.
        bytes: Bodies of all calls inside together.
    """

    inside: int
    waiting: int
    in_work: int
    held: int
    bytes: int


@dataclass(frozen=True, order=True)
class _Waiter:
    """A call in the queue; its future says whether its turn came or its place was lost."""

    priority: int
    arrival: int
    place: Place = field(compare=False)
    told: asyncio.Future[bool] = field(compare=False)

    def tell(self, *, is_its_turn: bool) -> bool:
        """Wake the call up; False if it is gone already."""
        if self.told.done():
            return False
        self.told.set_result(is_its_turn)
        return True


class Rates:
    """A token bucket for each client, kept as the time when it is full again.

    It holds one second's worth of calls, one call at least.
    """

    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}
        self._sweep_at = FEWEST_TO_SWEEP

    def __len__(self) -> int:
        return len(self._full_at)

    def wait_s(self, client: Client, now: float) -> float:
        """Return how long the client's next call is too early; 0 when it is not."""
        missing_s = max(0.0, self._full_at.get(client.name, now) - now)
        early_s = missing_s + 1 / client.rate - max(1.0, 1 / client.rate)
        return early_s if early_s > 1e-6 else 0.0  # the sum of many parts is not exact

    def take(self, client: Client, now: float) -> None:
        """Count a call; forget the full buckets each time their number may have doubled."""
        if len(self._full_at) >= self._sweep_at:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
            self._sweep_at = max(FEWEST_TO_SWEEP, 2 * len(self._full_at))
        self._full_at[client.name] = max(self._full_at.get(client.name, now), now) + 1 / client.rate


class Admission:
    """Lets calls in, and to Triton, as far as there is capacity."""

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Begin with nobody inside.

        Raises:
            SettingsError: The calls at once are still to be worked out.
        """
        if limits.calls < 1:
            raise SettingsError(f"calls: wanted 1 or more, got {limits.calls}")
        self._limits, self._clock, self._sleep = limits, clock, sleep
        self._rates = Rates()
        self._inside: set[Place] = set()
        self._bytes = 0
        self._calls: Counter[str] = Counter()  # by the client's name
        self._queue: list[_Waiter] = []  # who is next comes first; empty while a slot is free
        self._arrivals = 0
        self._in_work = self._held = 0
        self._second, self._told = 0, 0

    def counts(self) -> Counts:
        """Return what is going on now."""
        return Counts(len(self._inside), len(self._queue), self._in_work, self._held, self._bytes)

    @contextmanager
    def enter(self, client: Client) -> Iterator[Place]:
        """Count a client's call from its headers to its end.

        Where there is no room, waiting calls of worse priority lose their places, the latest of the
        worst first.

        Raises:
            TooMany: The client has used up what it may have.
            Full: There is no room.
        """
        self._check_client(client)
        place = Place(client)
        self._make_room(place, calls=1)
        self._rates.take(client, self._clock())
        self._inside.add(place)
        self._calls[client.name] += 1
        try:
            yield place
        finally:
            self._leave(place)

    def reserve(self, place: Place, size: int) -> None:
        """Make room for the body of a call, in bytes: as announced, before it is read.

        Raises:
            TooMany: The bodies of this client fill half of the memory.
            Full: There is no room, or the place was lost meanwhile.
        """
        if place not in self._inside:
            raise _place_lost()
        own = sum(one.size for one in self._inside if one.client.name == place.client.name)
        if own and own + size > self._limits.memory_bytes // 2:
            raise TooMany("bodies at once: wanted less of the memory, got half", RETRY_AFTER_S)
        self._make_room(place, size=size)
        place.size = size
        self._bytes += size

    def _check_client(self, client: Client) -> None:
        if self._calls[client.name] >= client.calls:
            raise TooMany(
                f"calls at once: wanted at most {client.calls}, got one more", RETRY_AFTER_S
            )
        wait_s = self._rates.wait_s(client, self._clock())
        if wait_s:
            raise TooMany(f"calls a second: wanted at most {client.rate:g}, got more", wait_s)

    def _make_room(self, place: Place, calls: int = 0, size: int = 0) -> None:
        calls += len(self._inside) - self._limits.calls - self._limits.waiting
        size += self._bytes - self._limits.memory_bytes
        lost: set[Place] = set()
        for waiter in reversed(self._queue):
            if (calls <= 0 and size <= 0) or waiter.priority <= place.client.priority:
                break
            if waiter.place not in lost:
                lost.add(waiter.place)
                calls, size = calls - 1, size - waiter.place.size
        if calls > 0:
            raise Full("all places are taken; try again later", RETRY_AFTER_S)
        if size > 0:
            raise Full("the memory for bodies is used up; try again later", RETRY_AFTER_S)
        if lost:
            self._dismiss(lost)

    def _dismiss(self, lost: set[Place]) -> None:
        for waiter in [one for one in self._queue if one.place in lost]:
            self._queue.remove(waiter)
            waiter.tell(is_its_turn=False)
        for place in lost:  # counted no more, so that whoever came can have the place at once
            self._leave(place)

    def _leave(self, place: Place) -> None:
        if place not in self._inside:
            return
        self._inside.remove(place)
        self._bytes -= place.size
        self._calls[place.client.name] -= 1
        if not self._calls[place.client.name]:
            del self._calls[place.client.name]

    @asynccontextmanager
    async def turn(self, place: Place) -> AsyncIterator[None]:
        """Wait for one of the slots, by priority and arrival, and have it while Triton works.

        Raises:
            Full: The turn did not come in time, or a call of better priority has the place.
        """
        if place not in self._inside:
            raise _place_lost()
        if self._in_work < self._limits.calls:
            self._in_work += 1
        else:
            await self._wait(place)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, place: Place) -> None:
        loop = asyncio.get_running_loop()
        self._arrivals += 1
        waiter = _Waiter(place.client.priority, self._arrivals, place, loop.create_future())
        insort(self._queue, waiter)
        too_late = partial(waiter.tell, is_its_turn=False)
        timer = loop.call_later(self._limits.wait_s, too_late)
        try:
            is_its_turn = await waiter.told
        except asyncio.CancelledError:
            if not waiter.told.cancelled() and waiter.told.result():
                self._pass_on()  # the slot came with the cancellation
            raise
        finally:
            timer.cancel()
            if waiter in self._queue:
                self._queue.remove(waiter)
        if not is_its_turn:
            is_late = place in self._inside
            raise _too_late(self._limits.wait_s) if is_late else _place_lost()

    def _pass_on(self) -> None:
        """Give a slot to who is next, or free it."""
        while self._queue:
            if self._queue.pop(0).tell(is_its_turn=True):
                return
        self._in_work -= 1

    async def hold(self) -> None:
        """Return when a refused call may be told: who asks again at once has to wait for it."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._told = second, 0
        if self._told < TOLD_AT_ONCE:
            self._told += 1
            return
        if self._held >= MOST_HELD:
            return
        self._held += 1
        try:
            await self._sleep(HOLD_S)
        finally:
            self._held -= 1


def _place_lost() -> Full:
    return Full("a call of better priority took the place; try again later", RETRY_AFTER_S)


def _too_late(wait_s: float) -> Full:
    return Full(f"the call's turn did not come within {wait_s:g} s; try again later", RETRY_AFTER_S)
