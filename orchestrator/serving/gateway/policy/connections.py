"""The open HTTP connections, with a limit in total and for each address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from orchestrator.serving.gateway.policy.trusted_proxies import TrustedProxies


class Connection(Protocol):
    """A connection that may have to be closed."""

    @property
    def address(self) -> str:
        """Name of the client at the other end; empty if many clients share it."""

    def drop(self) -> None:
        """Close the connection at once."""


class Connections:
    """The connections of one port. If there are too many, the longest idle one is closed.

    Args:
        max_total: Largest number of connections in total.
        max_of_address: Largest number of connections from one address.
        proxies: Trusted proxies, whose connections belong to many clients; None without proxies.

    Attributes:
        idle: The connections that wait for a request. The longest idle comes first.
        drop_count: Number of connections that were closed: to make room, after a timeout, or
            because they did not speak HTTP.
        is_leaving: The process is to end. Callers must connect to another one from now on.
    """

    def __init__(
        self, max_total: int, max_of_address: int, proxies: TrustedProxies | None = None
    ) -> None:
        self._max_total, self._max_of_address = max_total, max_of_address
        self.proxies = proxies
        self._open: set[Connection] = set()
        self.idle: dict[Connection, None] = {}
        self._by_address: Counter[str] = Counter()
        self.drop_count = 0
        self.is_leaving = False

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Connection) -> None:
        self._open.add(connection)
        self._by_address[connection.address] += 1
        self.idle[connection] = None
        count = self._by_address[connection.address]
        if connection.address and count > self._max_of_address:
            self._drop(other for other in self.idle if other.address == connection.address)
        elif len(self._open) > self._max_total:
            self._drop(self.idle)

    def _drop(self, idle: Iterable[Connection]) -> None:
        """Close the first idle connection. The new one is the last, if all others have requests."""
        self.drop_count += 1
        next(iter(idle)).drop()

    def mark_idle(self, connection: Connection) -> None:
        """Record that a connection waits for a request."""
        if connection in self._open:
            self.idle[connection] = None

    def remove(self, connection: Connection) -> None:
        if connection not in self._open:
            return
        self._open.discard(connection)
        self.idle.pop(connection, None)
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]
