"""An outbox in memory, for tests of sinks without a database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Lock

from plate_cameras.sinks.outbox import Delivery


@dataclass
class _Entry:
    delivery: Delivery
    due_s: float
    is_done: bool = False


class MemoryOutbox:
    """Keeps deliveries until they are confirmed. They are lost with the process."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._lock = Lock()

    def add(self, deliveries: Iterable[Delivery]) -> None:
        """Add deliveries. An id that a sink has already had is ignored."""
        with self._lock:
            for delivery in deliveries:
                self._entries.setdefault(
                    (delivery.sink, delivery.id), _Entry(delivery, delivery.created_s)
                )

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        """Take deliveries that are due, see `Outbox`."""
        with self._lock:
            waiting: dict[str, _Entry] = {}
            for entry in sorted(self._of(sink), key=lambda one: one.delivery.created_s):
                if not entry.is_done:
                    waiting.setdefault(entry.delivery.pass_id, entry)
            due = [entry for entry in waiting.values() if entry.due_s <= now_s][:limit]
            for entry in due:
                entry.due_s = now_s + lease_s
            return [entry.delivery for entry in due]

    def confirm(self, deliveries: Iterable[Delivery], now_s: float) -> None:
        """Record that deliveries were accepted, see `Outbox`."""
        for delivery in deliveries:
            self._end(delivery)

    def postpone(self, delivery: Delivery, reason: str, due_s: float) -> None:
        """Record a failed attempt, see `Outbox`."""
        with self._lock:
            entry = self._entries[delivery.sink, delivery.id]
            entry.delivery = replace(delivery, attempts=delivery.attempts + 1)
            entry.due_s = due_s

    def release(self, delivery: Delivery, due_s: float) -> None:
        """Give a delivery back unsent, see `Outbox`."""
        with self._lock:
            self._entries[delivery.sink, delivery.id].due_s = due_s

    def hasten(self, sink: str, now_s: float) -> None:
        """Make postponed deliveries due, see `Outbox`."""
        with self._lock:
            for entry in self._of(sink):
                if entry.delivery.attempts:
                    entry.due_s = min(entry.due_s, now_s)

    def abandon(self, delivery: Delivery, reason: str, now_s: float) -> None:
        """Record that a delivery will not be tried again, see `Outbox`."""
        self._end(delivery)

    def waiting(self, sink: str) -> int:
        """Return the number of open deliveries, see `Outbox`."""
        return sum(not one.is_done for one in self._of(sink))

    def waiting_ids(self, sink: str) -> set[str]:
        """Return the ids of the open deliveries."""
        return {one.delivery.id for one in self._of(sink) if not one.is_done}

    def next_due_s(self, sink: str) -> float:
        """Return when the next open delivery is due."""
        return min(one.due_s for one in self._of(sink) if not one.is_done)

    def replay(self, sink: str, since_s: float, now_s: float) -> int:
        """Make deliveries due again, see `Outbox`."""
        with self._lock:
            again = [one for one in self._of(sink) if one.delivery.created_s >= since_s]
            for entry in again:
                entry.delivery = replace(entry.delivery, attempts=0)
                entry.due_s, entry.is_done = now_s, False
            return len(again)

    def _of(self, sink: str) -> list[_Entry]:
        return [one for (name, _), one in self._entries.items() if name == sink]

    def _end(self, delivery: Delivery) -> None:
        with self._lock:
            self._entries[delivery.sink, delivery.id].is_done = True
