"""The outbox: events that wait for their receivers.

An event enters the outbox in the same transaction in which its pass is stored. So there is no pass
without its events, and no event without its pass.

Source: C. Richardson, "Microservices Patterns", 2018 (transactional outbox).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Delivery:
    """One event on its way to one sink.

    Attributes:
        id: Id of the event, the same in each attempt. A receiver ignores ids that it has had.
        document: The event, see `plate_cameras.passes`.
        created_s: Unix time at which the event was stored.
        attempts: Number of earlier attempts.
    """

    id: str
    sink: str
    document: Mapping[str, Any]
    created_s: float
    attempts: int = 0

    @property
    def pass_id(self) -> str:
        """Id of the pass that the event is about."""
        return str(self.document["data"]["id"])


class Outbox(Protocol):
    """Hands out deliveries and records their outcomes. Its calls may block."""

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        """Take deliveries of a sink that are due, the oldest first.

        Nobody else gets them until the lease has run out. A delivery waits until earlier ones of
        the same pass to the same sink are confirmed or abandoned.
        """

    def confirm(self, deliveries: Sequence[Delivery], now_s: float) -> None:
        """Record that the receiver has accepted deliveries, which are all of one sink."""

    def postpone(self, delivery: Delivery, reason: str, due_s: float) -> None:
        """Record a failed attempt; the delivery is due again at a Unix time."""

    def release(self, delivery: Delivery, due_s: float) -> None:
        """Give a claimed delivery back unsent. It is due at a Unix time."""

    def hasten(self, sink: str, now_s: float) -> None:
        """Make the postponed deliveries of a sink due now: its receiver answers again."""

    def abandon(self, delivery: Delivery, reason: str, now_s: float) -> None:
        """Record that a delivery will not be tried again, unless it is replayed."""

    def waiting(self, sink: str) -> int:
        """Return the number of deliveries that a sink has not accepted yet."""

    def replay(self, sink: str, since_s: float, now_s: float) -> int:
        """Make all deliveries of a sink that were created since a Unix time due again.

        Returns:
            Their number.
        """
