"""Admission of calls: quotas, queue and delayed refusals. One object for each event loop."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio

from orchestrator.errors import SettingsError
from orchestrator.gateway.errors import QuotaExceeded
from orchestrator.gateway.options import Limits
from orchestrator.gateway.policy.clients import Client
from orchestrator.gateway.policy.fair_queue import FairQueue
from orchestrator.gateway.policy.rate_limit import RateLimit
from orchestrator.gateway.policy.slots import Slot, Slots, evicted
from orchestrator.protocol.inference import USUAL_COST, Cost

TOLD_AT_ONCE = 20
"""Refusals a second that are sent without a delay."""
HOLD_S = 1.0
MOST_HELD, MOST_HELD_OF_ONE = 2000, 50


@dataclass(frozen=True)
class Counts:
    """The numbers of calls in each state now.

    Attributes:
        inside: Calls that were admitted.
        waiting: Admitted calls that wait in the queue.
        in_work: Admitted calls that Triton has.
        held: Refused calls whose refusal is still delayed.
        bytes: Bytes of the bodies of all admitted calls together.
        unpacked: Memory that the calls in work take at most, bytes.
    """

    inside: int
    waiting: int
    in_work: int
    held: int
    bytes: int
    unpacked: int = 0


class Admission:
    """Admits calls, and forwards them to Triton, as far as there is capacity."""

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Begin without any calls.

        Raises:
            SettingsError: `limits.calls` is still 0, and must be worked out first.
        """
        if limits.calls < 1:
            raise SettingsError(f"calls: wanted 1 or more, got {limits.calls}")
        self._clock, self._sleep = clock, sleep
        self._rates = RateLimit()
        self._places, self._turns = Slots(limits), FairQueue(limits)
        self._held: Counter[str] = Counter()  # by the client's name
        self._second, self._told = 0, 0

    def counts(self) -> Counts:
        """Return the numbers of calls in each state now."""
        places, turns, held = self._places, self._turns, self._held.total()
        return Counts(len(places), turns.waiting, turns.in_work, held, places.bytes, turns.bytes)

    @contextmanager
    def enter(self, client: Client) -> Iterator[Slot]:
        """Count a client's call from its headers to its end.

        If there is no room, calls of worse priority that send or wait are evicted. The worst
        priority goes first; in it, uploads go before waiting calls, and the latest call first.

        Raises:
            TooMany: The client has used up its quota.
            Full: There is no room.
        """
        self._check_client(client)
        place = Slot(client)
        self._places.add(place)
        self._rates.take(client, self._clock())
        try:
            yield place
        finally:
            self._places.remove(place)

    def reserve(self, place: Slot, size: int) -> None:
        """Reserve memory for the announced body of a call, in bytes, before it is read.

        Raises:
            TooMany: The bodies of this client fill half of the memory.
            Full: There is no room, or the call was evicted meanwhile.
        """
        self._check_place(place)
        self._places.reserve(place, size)

    @contextmanager
    def receive(self, place: Slot) -> Iterator[None]:
        """Let the block read the body of a call, until the call is evicted.

        Raises:
            Evicted: The call was evicted meanwhile.
        """
        self._check_place(place)
        with anyio.CancelScope() as scope:
            place.evict, place.is_receiving = scope.cancel, True
            try:
                yield
            finally:
                place.evict, place.is_receiving = None, False
        if scope.cancelled_caught:
            raise evicted()

    def _check_client(self, client: Client) -> None:
        self._places.check_calls(client)
        self._check_rate(client)

    def _check_rate(self, client: Client) -> None:
        wait_s = self._rates.wait_s(client, self._clock())
        if wait_s:
            raise QuotaExceeded(f"calls a second: wanted at most {client.rate:g}, got more", wait_s)

    def _check_place(self, place: Slot) -> None:
        if place not in self._places:
            raise evicted()

    @asynccontextmanager
    async def turn(self, place: Slot, cost: Cost = USUAL_COST) -> AsyncIterator[None]:
        """Wait for a slot at Triton, and keep it while Triton works.

        Slots are given by priority. Clients of one priority take turns. A picture that costs more
        than a usual call counts as several calls of its client.

        Raises:
            Full: No slot came free in time, or a call of better priority evicted this one.
        """
        self._check_place(place)
        self._rates.take(place.client, self._clock(), cost.calls - place.paid)
        place.paid = 0.0
        async with self._turns.turn(place, cost):
            yield

    def charge(self, client: Client) -> None:
        """Count a rejected call, so that no client tries keys faster than its rate.

        Raises:
            TooMany: The client has used up its rate.
        """
        self._check_rate(client)
        self._rates.take(client, self._clock())

    async def hold(self, client: str) -> None:
        """Wait until a refusal may be sent. Repeated refusals are delayed.

        Args:
            client: Name of the client. One client has up to `MOST_HELD_OF_ONE` delayed refusals.
                More are sent at once, so that one client cannot use up the shared `MOST_HELD`.
        """
        second = int(self._clock())
        if second != self._second:
            self._second, self._told = second, 0
        if self._told < TOLD_AT_ONCE:
            self._told += 1
            return
        if self._held.total() >= MOST_HELD or self._held[client] >= MOST_HELD_OF_ONE:
            return
        self._held[client] += 1
        try:
            await self._sleep(HOLD_S)
        finally:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]
