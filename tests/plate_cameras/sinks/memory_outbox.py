"""An outbox in memory, for tests of sinks without a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

from plate_cameras.sinks.outbox import Delivery


@dataclass
class _Entry:
    delivery: Delivery
    due_s: float
    is_done: bool = False


class MemoryOutbox:
    """Keeps deliveries until they are confirmed, see `Outbox`. They are lost with the process.

    Args:
        deliveries: The first deliveries.
        before: Function that is called before each call, with the name of its method.

    Attributes:
        calls: Numbers of calls, by the names of methods.
        confirmations: Numbers of deliveries that were confirmed together.
    """

    def __init__(
        self, deliveries: Iterable[Delivery] = (), before: Callable[[str], object] = str
    ) -> None:
        self.before, self.calls = before, Counter[str]()
        self.confirmations: list[int] = []
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._lock = Lock()
        self.add(deliveries)

    def add(self, deliveries: Iterable[Delivery]) -> None:
        with self._lock:
            for delivery in deliveries:
                self._entries.setdefault(
                    (delivery.sink, delivery.id), _Entry(delivery, delivery.created_s)
                )

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        with self._call("claim"):
            first_entries: dict[str, _Entry] = {}
            for entry in sorted(self._open(sink), key=lambda entry: entry.delivery.created_s):
                first_entries.setdefault(entry.delivery.pass_id, entry)
            entries = [entry for entry in first_entries.values() if entry.due_s <= now_s][:limit]
            for entry in entries:
                entry.due_s = now_s + lease_s
            return [entry.delivery for entry in entries]

    def confirm(self, deliveries: Sequence[Delivery], now_s: float) -> None:
        with self._call("confirm"):
            self.confirmations.append(len(deliveries))
            for delivery in deliveries:
                self._entries[delivery.sink, delivery.id].is_done = True

    def postpone(self, delivery: Delivery, reason: str, due_s: float) -> None:
        with self._call("postpone"):
            entry = self._entries[delivery.sink, delivery.id]
            entry.delivery = replace(delivery, attempts=delivery.attempts + 1)
            entry.due_s = due_s

    def release(self, delivery: Delivery, due_s: float) -> None:
        with self._call("release"):
            self._entries[delivery.sink, delivery.id].due_s = due_s

    def hasten(self, sink: str, now_s: float) -> None:
        with self._call("hasten"):
            for entry in self._open(sink):
                if entry.delivery.attempts:
                    entry.due_s = min(entry.due_s, now_s)

    def abandon(self, delivery: Delivery, reason: str, now_s: float) -> None:
        with self._call("abandon"):
            self._entries[delivery.sink, delivery.id].is_done = True

    def waiting(self, sink: str) -> int:
        with self._call("waiting"):
            return len(self._open(sink))

    def waiting_ids(self, sink: str) -> set[str]:
        return {entry.delivery.id for entry in self._open(sink)}

    def next_due_s(self, sink: str) -> float:
        """Return when the next open delivery is due."""
        return min(entry.due_s for entry in self._open(sink))

    def _open(self, sink: str) -> list[_Entry]:
        entries = self._entries.values()
        return [entry for entry in entries if entry.delivery.sink == sink and not entry.is_done]

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        self.calls[name] += 1
        self.before(name)
        with self._lock:
            yield
