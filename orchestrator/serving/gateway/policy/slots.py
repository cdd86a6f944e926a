"""Slots for admitted calls and memory for their bodies. Some of both is reserved for gates."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.serving.gateway.errors import RETRY_AFTER_S, Evicted, QuotaExceeded, ServiceFull
from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import GATE, PRIORITIES, Client

RESERVED_DIVISOR = 8
"""This fraction (1/8) of slots and memory is reserved for gates."""

MEASURE_S = 1.0
"""Shortest time over which the rate of an upload is measured."""


def open_to(priority: int, whole: int) -> int:
    """Return how much of a resource a priority may use. Only gates may use all of it."""
    return whole if priority == GATE else whole - whole // RESERVED_DIVISOR


@dataclass(eq=False)
class Slot:
    """The slot of an admitted call, from its headers to the end of its answer.

    Attributes:
        client: Client of the call.
        size: Reserved memory for the bytes of the body that have arrived.
        marked_s: Time at which the body began to arrive, or its rate was measured last.
        marked_size: Bytes that had arrived at that time.
        rate: Bytes a second before that time; infinite until it was measured.
        evict: Ends the call's upload or its wait. If None, it does neither now.
        is_receiving: The call's body is being read.
        is_inside: The call was admitted, and has neither ended nor been evicted.
        paid: Calls that were counted for it in advance, and not yet used.
    """

    client: Client
    size: int = 0
    marked_s: float = 0.0
    marked_size: int = 0
    rate: float = math.inf
    evict: Callable[[], object] | None = None
    is_receiving: bool = False
    is_inside: bool = False
    paid: float = 1.0

    def measure_rate(self, now_s: float) -> float:
        """Return the rate at which the body arrives; at most once a second it is measured anew.

        So an upload that sent much at first, and nothing since, is slow after a second.
        """
        elapsed_s = now_s - self.marked_s
        if elapsed_s >= MEASURE_S:
            self.rate = (self.size - self.marked_size) / elapsed_s
            self.marked_s, self.marked_size = now_s, self.size
        return self.rate


class Slots:
    """The admitted calls, in order of arrival."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        calls, memory = limits.calls + limits.waiting, limits.memory_bytes
        self._places = {priority: open_to(priority, calls) for priority in PRIORITIES.values()}
        self._memory = {
            priority: max(limits.body_bytes, open_to(priority, memory)) for priority in self._places
        }
        self._inside: dict[Slot, None] = {}
        self._calls: Counter[str] = Counter()  # by the client's name
        self._sizes: Counter[str] = Counter()  # memory for bodies, by the client's name
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._inside)

    def add(self, slot: Slot) -> None:
        """Admit a call.

        Raises:
            QuotaExceeded: The client already has as many calls as it may.
            ServiceFull: There is no room.
        """
        client = slot.client
        if self._calls[client.name] >= client.calls:
            raise QuotaExceeded(
                f"calls at once: wanted at most {client.calls}, got one more", RETRY_AFTER_S
            )
        max_calls = self._places[client.priority]
        if len(self._inside) >= max_calls:
            self._drop_slow_of_many(slot, len(self._inside) + 1 - max_calls)
        if len(self._inside) >= max_calls:
            self._make_room(slot, calls=len(self._inside) + 1 - max_calls)
        self._inside[slot], slot.is_inside = None, True
        self._calls[client.name] += 1

    def reserve(self, slot: Slot, size: int) -> None:
        """Reserve memory for the body of a call, or for as many bytes of it as have arrived.

        Args:
            slot: Slot of the call.
            size: All its bytes.

        Raises:
            QuotaExceeded: The bodies of this client fill half of the memory.
            ServiceFull: There is no room, or the call was evicted meanwhile.
        """
        if not slot.is_inside:
            raise make_eviction()
        other_bytes = self._sizes[slot.client.name] - slot.size
        if other_bytes and other_bytes + size > self._limits.memory_bytes // 2:
            raise QuotaExceeded(
                "bodies at once: wanted less of the memory, got half", RETRY_AFTER_S
            )
        extra_bytes = size - slot.size
        max_bytes = self._memory[slot.client.priority]
        if self.bytes + extra_bytes > max_bytes:
            self._drop_slow(slot, self.bytes + extra_bytes - max_bytes)
            self._make_room(slot, size=self.bytes + extra_bytes - max_bytes)
        slot.size = size
        self.bytes += extra_bytes
        self._sizes[slot.client.name] += extra_bytes

    def _drop_slow_of_many(self, slot: Slot, missing: int) -> None:
        """Evict slow uploads of clients with more calls than the new call's client, slowest first.

        So unfinished bodies cannot hold places for ever, even if several clients send them.
        """
        own = self._calls[slot.client.name]
        slow = [
            upload for upload in self._list_slow(slot) if self._calls[upload.client.name] > own + 1
        ]
        if len(slow) >= missing:
            for upload in slow[:missing]:
                self._evict(upload)

    def _drop_slow(self, slot: Slot, missing: int) -> None:
        """Evict slow uploads, the slowest first, until a call has the bytes that it misses.

        So unfinished bodies cannot hold memory for ever.
        """
        slow = [upload for upload in self._list_slow(slot) if upload.size > 0]
        if sum(upload.size for upload in slow) < missing:
            return
        for upload in slow:
            if missing > 0:
                missing -= upload.size
                self._evict(upload)

    def _list_slow(self, slot: Slot) -> list[Slot]:
        """Return the slow uploads that have no better priority than a call, the slowest first.

        An upload is slow if a body of the largest size would not come in time at its rate.
        """
        least_rate, now_s = self._limits.body_bytes / self._limits.body_s, self._clock()
        slow = [
            upload
            for upload in self._inside
            if upload.is_receiving
            and upload.evict is not None
            and upload is not slot
            and upload.client.priority >= slot.client.priority
            and upload.measure_rate(now_s) < least_rate
        ]
        return sorted(slow, key=lambda upload: upload.rate)

    def remove(self, slot: Slot) -> None:
        """Free the slot and the memory of a call, unless it was evicted already."""
        if not slot.is_inside:
            return
        del self._inside[slot]
        slot.is_inside = False
        name = slot.client.name
        self.bytes -= slot.size
        self._sizes[name] -= slot.size
        self._calls[name] -= 1
        if not self._calls[name]:  # the tables must not grow
            del self._calls[name], self._sizes[name]

    def _make_room(self, slot: Slot, calls: int = 0, size: int = 0) -> None:
        """Evict calls of worse priority, so many or of such a size; none if that is not enough."""
        victims = []
        for victim in self._list_evictable(slot.client.priority):
            if calls <= 0 and size <= 0:
                break
            if calls > 0 or victim.size:
                victims.append(victim)
                calls, size = calls - 1, size - victim.size
        if calls > 0:
            raise ServiceFull("all places are taken; try again later", RETRY_AFTER_S)
        if size > 0:
            raise ServiceFull("the memory for bodies is used up; try again later", RETRY_AFTER_S)
        for victim in victims:
            self._evict(victim)

    def _list_evictable(self, priority: int) -> list[Slot]:
        """Return the calls of worse priority that may be evicted, in that order.

        The worst priority comes first. In it, uploads come before waiting calls, and the latest
        call comes first.
        """
        worse = [slot for slot in self._inside if slot.evict and slot.client.priority > priority]
        worse.sort(key=lambda slot: (slot.client.priority, slot.is_receiving))
        return worse[::-1]

    def _evict(self, slot: Slot) -> None:
        assert slot.evict is not None
        slot.evict()
        self.remove(slot)  # at once, so that the other call gets the slot


def make_eviction() -> Evicted:
    """Return the refusal of a call that was evicted."""
    return Evicted(
        "a call of better priority took the place, or the upload was slow while places or memory "
        "were short; try again",
        RETRY_AFTER_S,
    )
