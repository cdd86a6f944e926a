"""The queue for slots at Triton: by priority, fair between clients, limited by memory."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial

from orchestrator.serving.gateway.errors import RETRY_AFTER_S, ServiceFull
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import PRIORITIES, Client
from orchestrator.serving.gateway.policy.slots import Slot, make_eviction, open_to
from orchestrator.serving.protocol.inference import Cost

MIN_ENTRIES_TO_SWEEP = 1000
SLOW_S = 0.3
"""A picture that takes longer to decode is slow. Small files may be: 155 KB of PNG take 0.7 s."""
MANY_PLATES, REMEMBERED_PART = 40, 0.9
"""A picture with more plates is slow to read: 100 take 3 to 7 s. Its header does not tell, so each
client is expected to go on as before. With each further picture, this part of the number stays."""
CALLS_A_WORKER = 4
"""Calls at Triton for each picture that it has in work, as `Limits.calls` is worked out."""


@dataclass(order=True)
class Turn:
    """The turn of a call at Triton: its place in the queue, then its slot.

    Attributes:
        priority: Priority of its client.
        start: Its virtual start, see `FairOrder`.
        arrival: Its number, in order of arrival.
        client: Name of its client.
        cost: The cost of the call.
        is_slow: The picture of the call takes long to decode, or probably long to read.
        plates: Number of plates in the answer.
        decision: Holds None for a slot, or the rejection. A call that need not wait has none.
    """

    priority: int
    start: float
    arrival: int
    client: str = field(compare=False)
    cost: Cost = field(compare=False)
    is_slow: bool = field(compare=False)
    plates: int = field(default=0, compare=False)
    decision: asyncio.Future[ServiceFull | None] | None = field(default=None, compare=False)

    def wake(self, refusal: ServiceFull | None = None) -> bool:
        """Wake up the call. Return False if it no longer waits."""
        if self.decision is None or self.decision.done():
            return False
        self.decision.set_result(refusal)
        return True


class FairOrder:
    """The order of calls of one priority: fair queuing between clients, by virtual time.

    A call starts, in virtual time, when the previous call of its client ends. Virtual time is the
    start of the latest call that got a slot. Calls that cost more end later.

    Source: Goyal, Vin, Cheng 1996, "Start-time Fair Queuing".

    Attributes:
        now: The virtual time; it never goes back.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._ends: dict[str, float] = {}
        self._sweep_at = MIN_ENTRIES_TO_SWEEP

    def __len__(self) -> int:
        return len(self._ends)

    def start(self, client: Client, calls: float) -> float:
        """Return the virtual start of a client's next call. Drop clients without calls."""
        if len(self._ends) >= self._sweep_at:
            self._ends = {name: end for name, end in self._ends.items() if end > self.now}
            self._sweep_at = max(MIN_ENTRIES_TO_SWEEP, 2 * len(self._ends))
        start = max(self.now, self._ends.get(client.name, 0.0))
        self._ends[client.name] = start + calls
        return start


class FairQueue:
    """The slots of calls at Triton, and the queue of waiting calls.

    Slow pictures never occupy the last worker, and each client has one of them in work. A client
    that had no answer yet has as many calls in work as there are workers, because they may turn out
    to be slow. Other calls overtake those that wait for these reasons.

    Attributes:
        in_work: Number of calls that have a slot.
        bytes: Memory that these calls take at most.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._memory = {
            priority: open_to(priority, limits.picture_bytes) for priority in PRIORITIES.values()
        }
        self._queue: list[Turn] = []  # the next call comes first
        self._orders: defaultdict[int, FairOrder] = defaultdict(FairOrder)  # by priority
        self._arrivals = 0
        self._slow: Counter[str] = Counter()  # in work, by the client's name
        self._of_client: Counter[str] = Counter()  # in work, by the client's name
        self._plates: dict[str, float] = {}  # expected in the next answer to a client
        self._max_of_new = max(1, limits.calls // CALLS_A_WORKER)
        self._max_slow = max(1, limits.calls // CALLS_A_WORKER - 1)
        self.in_work = self.bytes = 0

    @property
    def waiting(self) -> int:
        """Number of calls in the queue."""
        return len(self._queue)

    async def acquire(self, slot: Slot, cost: Cost) -> Turn:
        """Wait for a slot at Triton, and return the turn that has it. `release` ends the turn.

        Raises:
            ServiceFull: The wait was too long, or a call of better priority evicted this one.
        """
        self._arrivals += 1
        priority = slot.client.priority
        start = self._orders[priority].start(slot.client, cost.calls)
        is_slow = cost.seconds > SLOW_S
        turn = Turn(priority, start, self._arrivals, slot.client.name, cost, is_slow)
        if self._queue or not self._fits(turn) or self._is_held_back(turn):
            await self._wait(turn, slot)
        else:
            self._start(turn)
        return turn

    async def _wait(self, turn: Turn, slot: Slot) -> None:
        loop, wait_s = asyncio.get_running_loop(), self._limits.wait_s
        turn.decision = loop.create_future()
        insort(self._queue, turn)
        self._serve()
        if turn.decision.done():  # only calls that must wait for others are before it
            return
        timer = loop.call_later(wait_s, self._refuse, turn, _too_late(wait_s))
        slot.evict = partial(self._refuse, turn, make_eviction())
        try:
            refusal = await turn.decision
        except asyncio.CancelledError:
            if not turn.decision.cancelled() and turn.decision.result() is None:
                self.release(turn)  # the slot came together with the cancellation
            raise
        finally:
            slot.evict = None
            timer.cancel()
            self._leave(turn)
        if refusal is not None:
            raise refusal

    def _refuse(self, turn: Turn, refusal: ServiceFull) -> None:
        turn.wake(refusal)
        self._leave(turn)

    def _leave(self, turn: Turn) -> None:
        if turn in self._queue:
            self._queue.remove(turn)
            self._serve()  # a later call may fit into the memory

    def _serve(self) -> None:
        """Give slots to the next calls, as far as there are slots and memory."""
        while (turn := self._next()) and self._fits(turn):
            self._queue.remove(turn)
            if turn.wake():
                self._start(turn)

    def _start(self, turn: Turn) -> None:
        order = self._orders[turn.priority]
        order.now = max(order.now, turn.start)
        self.in_work += 1
        self.bytes += turn.cost.bytes
        self._of_client[turn.client] += 1
        turn.is_slow = self._is_slow(turn)
        if turn.is_slow:
            self._slow[turn.client] += 1

    def _next(self) -> Turn | None:
        """Return the next call that does not wait for another slow one; None if there is none."""
        return next((turn for turn in self._queue if not self._is_held_back(turn)), None)

    def _is_held_back(self, turn: Turn) -> bool:
        if not self._is_slow(turn):
            is_new = turn.client not in self._plates
            return is_new and self._of_client[turn.client] >= self._max_of_new
        return bool(self._slow[turn.client]) or self._slow.total() >= self._max_slow

    def _is_slow(self, turn: Turn) -> bool:
        return turn.is_slow or self._plates.get(turn.client, 0.0) > MANY_PLATES

    def _note_plates(self, turn: Turn) -> None:
        """Expect so many plates in the next pictures of the client."""
        plates = max(turn.plates, REMEMBERED_PART * self._plates.pop(turn.client, 0.0))
        self._plates[turn.client] = plates
        if len(self._plates) > MIN_ENTRIES_TO_SWEEP:
            del self._plates[next(iter(self._plates))]  # the one that was away for longest

    def _fits(self, turn: Turn) -> bool:
        """Tell whether slots and memory allow a call. Memory always allows a single call."""
        if self.in_work >= self._limits.calls:
            return False
        return not self.bytes or self.bytes + turn.cost.bytes <= self._memory[turn.priority]

    def release(self, turn: Turn) -> None:
        """Free the slot of a turn."""
        self.in_work -= 1
        self.bytes -= turn.cost.bytes
        for counter in (self._slow, self._of_client) if turn.is_slow else (self._of_client,):
            counter[turn.client] -= 1
            if not counter[turn.client]:  # the tables must not grow
                del counter[turn.client]
        self._note_plates(turn)
        if self._queue:
            self._serve()


def _too_late(wait_s: float) -> ServiceFull:
    return ServiceFull(
        f"the call's turn did not come within {wait_s:g} s; try again later", RETRY_AFTER_S
    )
