"""The HTTP connections that are open: bounded in number, in all and for each address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol


class Connection(Protocol):
    """One that may have to go."""

    @property
    def address(self) -> str:
        """Of its peer: the name of a client."""

    def drop(self) -> None:
        """Close it at once."""


class Connections:
    """Those of one port. Of too many the one that has done nothing for longest is closed.

    Args:
        most: In all.
        most_of_one: From one address.

    Attributes:
        dropped: How many were closed for others, or because they did not keep to their times or
            to HTTP.
        is_leaving: Whether the process is to end: callers must go elsewhere from now on.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._open: set[Connection] = set()
        self._idle: dict[Connection, None] = {}  # in order
        self._by_address: Counter[str] = Counter()
        self.dropped = 0
        self.is_leaving = False

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Connection) -> None:
        self._open.add(connection)
        self._by_address[connection.address] += 1
        self.rest(connection)
        if self._by_address[connection.address] > self._most_of_one:
            self._drop(one for one in self._idle if one.address == connection.address)
        elif len(self._open) > self._most:
            self._drop(self._idle)

    def _drop(self, idle: Iterable[Connection]) -> None:
        """Close the first; the new one is the last, where all others are at work."""
        self.dropped += 1
        next(iter(idle)).drop()

    def work(self, connection: Connection) -> None:
        """Note that a connection has a request."""
        self._idle.pop(connection, None)

    def rest(self, connection: Connection) -> None:
        """Note that a connection waits for one."""
        if connection in self._open:
            self._idle[connection] = None

    def remove(self, connection: Connection) -> None:
        if connection not in self._open:
            return
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]
