"""Slots for admitted calls and memory for their bodies. Some of both is reserved for gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.gateway.errors import RETRY_AFTER_S, Evicted, QuotaExceeded, ServiceFull
from orchestrator.gateway.options import Limits
from orchestrator.gateway.policy.clients import GATE, Client

KEPT = 8
"""This fraction (1/8) of slots and memory is reserved for gates."""


def open_to(priority: int, whole: int) -> int:
    """Return how much of a resource a priority may use. Only gates may use all of it."""
    return whole if priority == GATE else whole - whole // KEPT


@dataclass(eq=False)
class Slot:
    """The slot of an admitted call, from its headers to the end of its answer.

    Attributes:
        client: Client of the call.
        size: Reserved memory for the body, bytes; 0 before the reservation.
        evict: Ends the call's upload or its wait. If None, it does neither now.
        is_receiving: The call's body is being read.
        paid: Calls that were counted for it in advance, and not yet used.
    """

    client: Client
    size: int = 0
    evict: Callable[[], object] | None = None
    is_receiving: bool = False
    paid: float = 1.0


class Slots:
    """The admitted calls, in order of arrival."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._inside: dict[Slot, None] = {}
        self._calls: Counter[str] = Counter()  # by the client's name
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._inside)

    def check(self, slot: Slot) -> None:
        """Check that a call still has its slot.

        Raises:
            Evicted: The call was evicted meanwhile.
        """
        if slot not in self._inside:
            raise evicted()

    def add(self, slot: Slot) -> None:
        """Admit a call.

        Raises:
            ServiceFull: There is no room.
        """
        self._make_room(slot, calls=1)
        self._inside[slot] = None
        self._calls[slot.client.name] += 1

    def check_calls(self, client: Client) -> None:
        """Check that a client may have one more call.

        Raises:
            QuotaExceeded: The client already has as many calls as it may.
        """
        if self._calls[client.name] >= client.calls:
            raise QuotaExceeded(
                f"calls at once: wanted at most {client.calls}, got one more", RETRY_AFTER_S
            )

    def reserve(self, slot: Slot, size: int) -> None:
        """Reserve memory for the body of a call, in bytes.

        Raises:
            QuotaExceeded: The bodies of this client fill half of the memory.
            ServiceFull: There is no room, or the call was evicted meanwhile.
        """
        self.check(slot)
        own = sum(one.size for one in self._inside if one.client.name == slot.client.name)
        if own and own + size > self._limits.memory_bytes // 2:
            raise QuotaExceeded(
                "bodies at once: wanted less of the memory, got half", RETRY_AFTER_S
            )
        self._make_room(slot, size=size)
        slot.size = size
        self.bytes += size

    def remove(self, slot: Slot) -> None:
        """Free the slot and the memory of a call, unless it was evicted already."""
        if slot not in self._inside:
            return
        del self._inside[slot]
        self.bytes -= slot.size
        self._calls[slot.client.name] -= 1
        if not self._calls[slot.client.name]:
            del self._calls[slot.client.name]

    def _make_room(self, slot: Slot, calls: int = 0, size: int = 0) -> None:
        """Evict calls of worse priority until there is room; evict none if that is not enough."""
        limits, priority = self._limits, slot.client.priority
        memory = max(limits.body_bytes, open_to(priority, limits.memory_bytes))
        if calls:
            calls += len(self._inside) - open_to(priority, limits.calls + limits.waiting)
        if size:
            size += self.bytes - memory
        evicted = []
        for one in self._evictable(priority):
            if calls <= 0 and size <= 0:
                break
            if calls > 0 or one.size:
                evicted.append(one)
                calls, size = calls - 1, size - one.size
        if calls > 0:
            raise ServiceFull("all places are taken; try again later", RETRY_AFTER_S)
        if size > 0:
            raise ServiceFull("the memory for bodies is used up; try again later", RETRY_AFTER_S)
        for one in evicted:
            self._evict(one)

    def _evictable(self, priority: int) -> list[Slot]:
        """Return the calls of worse priority that may be evicted, in that order.

        The worst priority comes first. In it, uploads come before waiting calls, and the latest
        call comes first.
        """
        worse = [one for one in self._inside if one.evict and one.client.priority > priority]
        worse.sort(key=lambda one: (one.client.priority, one.is_receiving))
        return worse[::-1]

    def _evict(self, slot: Slot) -> None:
        assert slot.evict is not None
        slot.evict()
        self.remove(slot)  # at once, so that the other call gets the slot


def evicted() -> Evicted:
    """Return the refusal of a call that was evicted."""
    return Evicted("a call of better priority took the place; try again later", RETRY_AFTER_S)
