"""The claimed deliveries of a sink, until the outbox knows what became of each."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from itertools import islice

from orchestrator.host.retry import exponential_s
from plate_cameras.sinks.outbox import Delivery, Outbox
from plate_cameras.sinks.receiver import DeliveryError, Undeliverable

LOG = logging.getLogger(__name__)
FIRST_PAUSE_S, MAX_PAUSE_S = 5.0, 12 * 3600.0
"""Pauses between the attempts of one delivery. They double, and are shortened at random."""
GIVE_UP_S, MIN_ATTEMPTS = 3 * 86400.0, 10
"""A delivery is abandoned when it is so old and was tried so often. An operator can replay it."""


class Claims:
    """Claims deliveries, and records what became of them.

    An outcome that the outbox could not take is kept here and recorded the next time, so that an
    accepted event is not sent again. `claim`, `record` and `release` block; they run one after the
    other in one thread.

    Args:
        outbox: The events that wait.
        clock: The clock of the outbox, which nobody sets.

    Attributes:
        must_hasten: Postponed deliveries are due at the next `record`.
    """

    def __init__(self, sink: str, outbox: Outbox, clock: Callable[[], float]) -> None:
        self.must_hasten = False
        self._sink, self._outbox, self._clock = sink, outbox, clock
        self._unsent: dict[str, Delivery] = {}
        self._successes: list[Delivery] = []
        self._failures: list[tuple[Delivery, DeliveryError]] = []

    @property
    def are_settled(self) -> bool:
        """True if the outbox knows everything."""
        return not (self._unsent or self._successes or self._failures or self.must_hasten)

    def next(self, count: int) -> list[Delivery]:
        """Return the first claimed deliveries that have no outcome."""
        return [*islice(self._unsent.values(), count)]

    def note(self, delivery: Delivery, error: DeliveryError | None) -> None:
        """Note that a delivery was accepted, or why not. It is recorded by `record`."""
        if self._unsent.pop(delivery.id, None) is None:
            return  # it was given back meanwhile
        if error is None:
            self._successes.append(delivery)
        else:
            self._failures.append((delivery, error))

    def claim(self, limit: int, lease_s: float) -> None:
        """Claim deliveries that are due."""
        deliveries = self._outbox.claim(self._sink, limit, self._clock(), lease_s)
        self._unsent.update({delivery.id: delivery for delivery in deliveries})

    def record(self) -> set[str]:
        """Record accepted and failed events in the outbox. Return the ids of abandoned ones."""
        if deliveries := [*self._successes]:
            self._outbox.confirm(deliveries, self._clock())
            del self._successes[: len(deliveries)]
        abandoned_ids = set[str]()
        while self._failures:
            delivery, error = self._failures[0]
            if self._keep_or_abandon(delivery, error):
                abandoned_ids.add(delivery.id)
            del self._failures[0]
        if self.must_hasten:
            self._outbox.hasten(self._sink, self._clock())
            self.must_hasten = False
        return abandoned_ids

    def release(self, pause_s: float) -> None:
        """Release a claimed event that was not sent. It is due after a pause."""
        due_s = self._clock() + pause_s
        for delivery in [*self._unsent.values()]:
            self._outbox.release(delivery, due_s)
            self._unsent.pop(delivery.id, None)

    def _keep_or_abandon(self, delivery: Delivery, error: DeliveryError) -> bool:
        """Plan the next attempt of a delivery, or abandon it; return whether it is abandoned."""
        reason, now_s = str(error), self._clock()
        is_old = now_s - delivery.created_s > GIVE_UP_S and delivery.attempts >= MIN_ATTEMPTS
        if is_old or isinstance(error, Undeliverable):
            self._outbox.abandon(delivery, reason, now_s)
            LOG.error("sink %s: gave up %s: %s", self._sink, delivery.id, reason)
            return True
        longest_s = exponential_s(delivery.attempts, FIRST_PAUSE_S, MAX_PAUSE_S)
        pause_s = max(longest_s * random.uniform(0.5, 1), error.retry_after_s)
        self._outbox.postpone(delivery, reason, now_s + pause_s)
        return False
