"""The queue for slots at Triton: by priority, fair between clients, limited by memory."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from orchestrator.serving.gateway.errors import RETRY_AFTER_S, ServiceFull
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import Client
from orchestrator.serving.gateway.policy.slots import Slot, evicted, open_to
from orchestrator.serving.protocol.inference import Cost

MIN_ENTRIES_TO_SWEEP = 1000
SLOW_S = 0.3
"""A picture that takes longer to decode is slow. Small files may be: 155 KB of PNG take 0.7 s."""
CALLS_A_WORKER = 4
"""Calls at Triton for each picture that it has in work, as `Limits.calls` is worked out."""


@dataclass(frozen=True, order=True)
class _Waiter:
    """A call in the queue. Its future holds None for a slot, or the rejection."""

    priority: int
    start: float
    arrival: int
    client: str = field(compare=False)
    cost: Cost = field(compare=False)
    decision: asyncio.Future[ServiceFull | None] = field(compare=False)

    @property
    def is_slow(self) -> bool:
        """True if its picture takes long to decode."""
        return self.cost.seconds > SLOW_S

    def wake(self, refusal: ServiceFull | None = None) -> bool:
        """Wake up the call. Return False if it no longer waits."""
        if self.decision.done():
            return False
        self.decision.set_result(refusal)
        return True


class FairOrder:
    """The order of calls of one priority: fair queuing between clients, by virtual time.

    A call starts, in virtual time, when the previous call of its client ends. Virtual time is the
    start of the latest call that got a slot. Calls that cost more end later.

    Source: Goyal, Vin, Cheng 1996, "Start-time Fair Queuing".
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._ends: dict[str, float] = {}
        self._sweep_at = MIN_ENTRIES_TO_SWEEP

    def __len__(self) -> int:
        return len(self._ends)

    def start(self, client: Client, calls: float) -> float:
        """Return the virtual start of a client's next call. Drop clients without calls."""
        if len(self._ends) >= self._sweep_at:
            self._ends = {name: end for name, end in self._ends.items() if end > self._now}
            self._sweep_at = max(MIN_ENTRIES_TO_SWEEP, 2 * len(self._ends))
        start = max(self._now, self._ends.get(client.name, 0.0))
        self._ends[client.name] = start + calls
        return start

    def move_to(self, start: float) -> None:
        """Note that a call with this start got a slot."""
        self._now = max(self._now, start)


class FairQueue:
    """The slots of calls at Triton, and the queue of waiting calls.

    Slow pictures never occupy the last worker, and each client has one of them in work. Other calls
    overtake those that wait for this reason.

    Attributes:
        in_work: Number of calls that have a slot.
        bytes: Memory that these calls take at most.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._queue: list[_Waiter] = []  # the next call comes first
        self._orders: defaultdict[int, FairOrder] = defaultdict(FairOrder)  # by priority
        self._arrivals = 0
        self._slow: Counter[str] = Counter()  # in work, by the client's name
        self._most_slow = max(1, limits.calls // CALLS_A_WORKER - 1)
        self.in_work = self.bytes = 0

    @property
    def waiting(self) -> int:
        """Number of calls in the queue."""
        return len(self._queue)

    @asynccontextmanager
    async def acquire(self, slot: Slot, cost: Cost) -> AsyncIterator[None]:
        """Wait for a slot, and keep it while Triton works.

        Raises:
            ServiceFull: The wait was too long, or a call of better priority evicted this one.
        """
        waiter = self._join(slot, cost)
        if not waiter.decision.done():
            await self._wait(waiter, slot)
        try:
            yield
        finally:
            self._release(waiter)

    def _join(self, slot: Slot, cost: Cost) -> _Waiter:
        self._arrivals += 1
        priority = slot.client.priority
        start = self._orders[priority].start(slot.client, cost.calls)
        decision = asyncio.get_running_loop().create_future()
        waiter = _Waiter(priority, start, self._arrivals, slot.client.name, cost, decision)
        insort(self._queue, waiter)
        self._serve()
        return waiter

    async def _wait(self, waiter: _Waiter, slot: Slot) -> None:
        loop, wait_s = asyncio.get_running_loop(), self._limits.wait_s
        timer = loop.call_later(wait_s, self._refuse, waiter, _too_late(wait_s))
        slot.evict = partial(self._refuse, waiter, evicted())
        try:
            refusal = await waiter.decision
        except asyncio.CancelledError:
            if not waiter.decision.cancelled() and waiter.decision.result() is None:
                self._release(waiter)  # the slot came together with the cancellation
            raise
        finally:
            slot.evict = None
            timer.cancel()
            self._leave(waiter)
        if refusal is not None:
            raise refusal

    def _refuse(self, waiter: _Waiter, refusal: ServiceFull) -> None:
        waiter.wake(refusal)
        self._leave(waiter)

    def _leave(self, waiter: _Waiter) -> None:
        if waiter in self._queue:
            self._queue.remove(waiter)
            self._serve()  # a later call may fit into the memory

    def _serve(self) -> None:
        """Give slots to the next calls, as far as there are slots and memory."""
        while (waiter := self._next()) and self._fits(waiter):
            self._queue.remove(waiter)
            if waiter.wake():
                self._orders[waiter.priority].move_to(waiter.start)
                self.in_work += 1
                self.bytes += waiter.cost.bytes
                self._slow[waiter.client] += waiter.is_slow

    def _next(self) -> _Waiter | None:
        """Return the next call that does not wait for another slow one; None if there is none."""
        return next((one for one in self._queue if not self._is_held_back(one)), None)

    def _is_held_back(self, waiter: _Waiter) -> bool:
        is_one_more = self._slow[waiter.client] or self._slow.total() >= self._most_slow
        return waiter.is_slow and bool(is_one_more)

    def _fits(self, waiter: _Waiter) -> bool:
        """Tell whether slots and memory allow a call. Memory always allows a single call."""
        most = open_to(waiter.priority, self._limits.picture_bytes)
        has_memory = not self.bytes or self.bytes + waiter.cost.bytes <= most
        return self.in_work < self._limits.calls and has_memory

    def _release(self, waiter: _Waiter) -> None:
        self.in_work -= 1
        self.bytes -= waiter.cost.bytes
        self._slow[waiter.client] -= waiter.is_slow
        self._slow += Counter()  # drop zeros
        self._serve()


def _too_late(wait_s: float) -> ServiceFull:
    return ServiceFull(
        f"the call's turn did not come within {wait_s:g} s; try again later", RETRY_AFTER_S
    )
