"""Admission of calls: quotas, queue and delayed rejections. One object for each event loop.

A call passes three counters here, because they limit different things: the rate of a client, the
calls and bodies in this process (`slots`), and the calls and pictures at Triton (`fair_queue`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.errors import QuotaExceeded
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import Client
from orchestrator.serving.gateway.policy.fair_queue import FairQueue, Turn
from orchestrator.serving.gateway.policy.slots import Slot, Slots, make_eviction
from orchestrator.serving.protocol.inference import USUAL_COST, Cost

MIN_ENTRIES_TO_SWEEP = 1000


class RateLimit:
    """The token buckets of all clients. Each is stored as the time when it is full again.

    A bucket holds the calls of one second, but at least one call.
    """

    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}
        self._sweep_at = MIN_ENTRIES_TO_SWEEP

    def __len__(self) -> int:
        return len(self._full_at)

    def check(self, client: Client, now: float) -> None:
        """Check that a client may make its next call now.

        Raises:
            QuotaExceeded: The client has used up its rate.
        """
        missing_s = max(0.0, self._full_at.get(client.name, now) - now)
        early_s = missing_s + 1 / client.rate - max(1.0, 1 / client.rate)
        if early_s > 1e-6:  # sums of many parts are not exact
            raise QuotaExceeded(
                f"calls a second: wanted at most {client.rate:g}, got more", early_s
            )

    def take(self, client: Client, now: float, calls: float = 1.0) -> None:
        """Count calls of a client. Drop full buckets whenever their number may have doubled."""
        if len(self._full_at) >= self._sweep_at:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
            self._sweep_at = max(MIN_ENTRIES_TO_SWEEP, 2 * len(self._full_at))
        full_at = max(self._full_at.get(client.name, now), now)
        self._full_at[client.name] = full_at + calls / client.rate


SENT_AT_ONCE = 20
"""Rejections a second that are sent without a delay."""
DELAY_S = 1.0
MAX_DELAYED, MAX_DELAYED_OF_ONE = 2000, 125
"""Largest number of rejections that are delayed, of all and of one client: half the connections of
an address, so that others behind the same address still connect."""


@dataclass(frozen=True)
class Counts:
    """The numbers of calls in each state now.

    Attributes:
        inside: Calls that were admitted.
        waiting: Admitted calls that wait in the queue.
        in_work: Admitted calls that Triton has.
        delayed_rejections: Rejected calls whose rejection is still delayed.
        bytes: Bytes of the bodies of all admitted calls together.
        picture_bytes: Memory that the calls in work take at most.
    """

    inside: int
    waiting: int
    in_work: int
    delayed_rejections: int
    bytes: int
    picture_bytes: int = 0


class Admission:
    """Admits calls, and forwards them to Triton, as far as there is capacity.

    Attributes:
        slots: The admitted calls. The bodies of calls reserve memory there.
    """

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
        self.slots, self._queue = Slots(limits, clock), FairQueue(limits)
        self._delayed_rejections: Counter[str] = Counter()  # by the client's name
        self._second, self._prompt_rejections = 0, 0

    def counts(self) -> Counts:
        """Return the numbers of calls in each state now."""
        slots, queue, delayed_count = self.slots, self._queue, self._delayed_rejections.total()
        return Counts(
            len(slots), queue.waiting, queue.in_work, delayed_count, slots.bytes, queue.bytes
        )

    def enter(self, slot: Slot) -> None:
        """Admit a call of the slot's client. It counts until it is removed from the slots.

        If there is no room, calls of worse priority that send or wait are evicted. The worst
        priority goes first; in it, uploads go before waiting calls, and the latest call first.

        Raises:
            QuotaExceeded: The client has used up its quota.
            ServiceFull: There is no room.
        """
        now_s = self._clock()
        self._rates.check(slot.client, now_s)
        self.slots.add(slot)
        self._rates.take(slot.client, now_s)

    @contextmanager
    def receive(self, slot: Slot) -> Iterator[None]:
        """Let the block read the body of a call, until the call is evicted.

        Raises:
            Evicted: The call was evicted meanwhile.
        """
        if not slot.is_inside:
            raise make_eviction()
        with anyio.CancelScope() as scope:
            slot.evict, slot.is_receiving, slot.marked_s = scope.cancel, True, self._clock()
            try:
                yield
            finally:
                slot.evict, slot.is_receiving = None, False
        if scope.cancelled_caught:
            raise make_eviction()

    @asynccontextmanager
    async def queue(self, slot: Slot, cost: Cost = USUAL_COST) -> AsyncIterator[Turn]:
        """Wait in the queue for Triton, and count as in work while the block runs.

        Calls leave the queue by priority. Clients of one priority take turns. A picture that costs
        more than a usual call counts as several calls of its client. The block sets the plates of
        the turn.

        Raises:
            ServiceFull: The wait was too long, or a call of better priority evicted this one.
        """
        if not slot.is_inside:
            raise make_eviction()
        if cost.calls > slot.paid:
            self._rates.take(slot.client, self._clock(), cost.calls - slot.paid)
        slot.paid = 0.0
        turn = await self._queue.acquire(slot, cost)
        try:
            yield turn
        finally:
            self._queue.release(turn)

    def charge(self, client: Client) -> None:
        """Count a rejected call, so that no client tries keys faster than its rate.

        Raises:
            QuotaExceeded: The client has used up its rate.
        """
        now_s = self._clock()
        self._rates.check(client, now_s)
        self._rates.take(client, now_s)

    async def delay_rejection(self, client: str) -> None:
        """Wait until a rejection may be sent. Repeated rejections are delayed.

        Args:
            client: Name of the client. One client has up to `MAX_DELAYED_OF_ONE` delayed
                rejections. More are sent at once, so that one client cannot use up the shared
                `MAX_DELAYED`.
        """
        second = int(self._clock())
        if second != self._second:
            self._second, self._prompt_rejections = second, 0
        if self._prompt_rejections < SENT_AT_ONCE:
            self._prompt_rejections += 1
            return
        if (
            self._delayed_rejections.total() >= MAX_DELAYED
            or self._delayed_rejections[client] >= MAX_DELAYED_OF_ONE
        ):
            return
        self._delayed_rejections[client] += 1
        try:
            await self._sleep(DELAY_S)
        finally:
            self._delayed_rejections[client] -= 1
            if not self._delayed_rejections[client]:
                del self._delayed_rejections[client]
