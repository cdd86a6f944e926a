"""Places for calls and memory for their bodies, some of both kept for gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.gateway.clients import GATE, Client
from orchestrator.gateway.options import Limits
from orchestrator.gateway.refusals import RETRY_AFTER_S, Evicted, Full, TooMany

KEPT = 8
"""One part of so many is kept for gates, of places and of memory."""


def open_to(priority: int, whole: int) -> int:
    """Return how much of a resource calls of a priority may fill: all of it for gates alone."""
    return whole if priority == GATE else whole - whole // KEPT


@dataclass(eq=False)
class Place:
    """A call that is inside, from its headers to the end of its answer.

    Attributes:
        client: Whose call.
        size: Of its body, bytes; 0 until room was made for it.
        evict: Ends the call's upload or its wait; None while it does neither.
        is_receiving: Its body is being read.
        paid: Calls that were counted for it and not used by a turn.
    """

    client: Client
    size: int = 0
    evict: Callable[[], object] | None = None
    is_receiving: bool = False
    paid: float = 1.0


class Places:
    """The calls that are inside, in the order in which they came."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._inside: dict[Place, None] = {}
        self._calls: Counter[str] = Counter()  # by the client's name
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._inside)

    def __contains__(self, place: Place) -> bool:
        return place in self._inside

    def add(self, place: Place) -> None:
        """Let a call in.

        Raises:
            Full: There is no room.
        """
        self._make_room(place, calls=1)
        self._inside[place] = None
        self._calls[place.client.name] += 1

    def check_calls(self, client: Client) -> None:
        """See that a client may have one call more.

        Raises:
            TooMany: It may not.
        """
        if self._calls[client.name] >= client.calls:
            raise TooMany(
                f"calls at once: wanted at most {client.calls}, got one more", RETRY_AFTER_S
            )

    def reserve(self, place: Place, size: int) -> None:
        """Make room for the body of a call, in bytes.

        Raises:
            TooMany: The bodies of this client fill half of the memory.
            Full: There is no room.
        """
        own = sum(one.size for one in self._inside if one.client.name == place.client.name)
        if own and own + size > self._limits.memory_bytes // 2:
            raise TooMany("bodies at once: wanted less of the memory, got half", RETRY_AFTER_S)
        self._make_room(place, size=size)
        place.size = size
        self.bytes += size

    def remove(self, place: Place) -> None:
        """Free what a call has; nothing where it lost its place."""
        if place not in self._inside:
            return
        del self._inside[place]
        self.bytes -= place.size
        self._calls[place.client.name] -= 1
        if not self._calls[place.client.name]:
            del self._calls[place.client.name]

    def _make_room(self, place: Place, calls: int = 0, size: int = 0) -> None:
        """Evict calls of worse priority as far as that makes room."""
        limits, priority = self._limits, place.client.priority
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
            raise Full("all places are taken; try again later", RETRY_AFTER_S)
        if size > 0:
            raise Full("the memory for bodies is used up; try again later", RETRY_AFTER_S)
        for one in evicted:
            self._evict(one)

    def _evictable(self, priority: int) -> list[Place]:
        """Return the calls of worse priority that may lose their places, in that order.

        The worst priority comes first, in it uploads before calls that wait, the latest first.
        """
        worse = [one for one in self._inside if one.evict and one.client.priority > priority]
        worse.sort(key=lambda one: (one.client.priority, one.is_receiving))
        return worse[::-1]

    def _evict(self, place: Place) -> None:
        assert place.evict is not None
        place.evict()
        self.remove(place)  # at once, so that the other call can have the place


def evicted() -> Evicted:
    """Return the refusal of a call that lost its place."""
    return Evicted("a call of better priority took the place; try again later", RETRY_AFTER_S)
