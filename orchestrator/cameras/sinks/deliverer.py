"""Delivers the events of the outbox to every sink, each at its own pace."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.cameras.background_tasks import TaskStatus
from orchestrator.cameras.clocks import steady_s
from orchestrator.cameras.sinks.outbox import Delivery, Outbox
from orchestrator.cameras.sinks.receiver import (
    DeliveryError,
    Receiver,
    ReceiverGone,
    Undeliverable,
)
from orchestrator.errors import PlateError
from orchestrator.system.backoff import exponential_s
from orchestrator.system.events import is_set_within

LOG = logging.getLogger(__name__)
BATCH = 10
"""Most deliveries that one sink takes at once."""
TURNS = 5
"""Events that are recorded together, for each of those that a receiver takes at once. When the
process ends before that, they are sent again."""
LEASE_S = 300.0
"""How long a claimed delivery is kept from other deliverers; longer than a batch may take."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 12 * 3600.0
"""Pauses between the attempts of one delivery. They double, and are shortened at random."""
LONGEST_REST_S = 600.0
"""Longest pause of a sink whose deliveries fail one after the other; it doubles from the first."""
GIVE_UP_S, LEAST_ATTEMPTS = 3 * 86400.0, 10
"""Age and attempts after which a delivery is abandoned. An operator can replay it."""
DRAIN_STEP_S = 0.1
POLL_S = 2.0
"""How often a sink looks for deliveries whose pause is over."""

Attempt = tuple[Delivery, DeliveryError | None]


@dataclass(frozen=True)
class SinkStatus:
    """The state of one sink.

    Attributes:
        name: Name of the sink.
        delivered: Events that the receiver has accepted.
        failed_attempts: Attempts that failed.
        abandoned: Events that were given up.
        waiting: Events that the receiver has not accepted yet, at the last look.
        last_success_s: Unix time of the last accepted event; 0 if there was none.
        last_error: Reason of the last failure, empty after a success.
        is_disabled: True if the receiver wants no more events.
    """

    name: str
    delivered: int = 0
    failed_attempts: int = 0
    abandoned: int = 0
    waiting: int = 0
    last_success_s: float = 0.0
    last_error: str = ""
    is_disabled: bool = False


class SinkQueue:
    """Delivers the events of one sink. The events of a pass keep their order.

    A receiver that has the attribute `at_once` gets so many events at the same time.

    After a failed attempt the next event is tried, because the first may be at fault. If that fails
    as well, the sink rests.

    Attributes:
        status: The state of the sink.
    """

    def __init__(
        self,
        name: str,
        receiver: Receiver,
        outbox: Outbox,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.status = SinkStatus(name)
        self._receiver = receiver
        self._outbox = outbox
        self._clock = clock
        self._failures = 0
        self._counted_s = float("-inf")
        self._at_once: int = getattr(receiver, "at_once", 1)

    async def deliver_due(self) -> float:
        """Deliver what is due; return the seconds until there may be more."""
        if self.status.is_disabled:
            return POLL_S
        name, now_s = self.status.name, self._clock()
        limit = BATCH * self._at_once
        batch = await asyncio.to_thread(self._outbox.claim, name, limit, now_s, LEASE_S)
        await self._count_waiting(now_s, is_idle=not batch)
        if not batch:
            await self._receiver.idle()
        pause_s = 0.0 if batch else POLL_S
        while batch:
            # After a failure, one event at a time shows whether the receiver answers.
            width = 1 if self._failures else self._at_once
            chunk = batch[: width * TURNS if width > 1 else 1]
            found = await self._attempt_all(chunk, width)
            batch = batch[len(found) :]
            rest_s = await self._record(found)
            if rest_s:
                await self._release(batch, rest_s)
                return rest_s
        return pause_s

    def enable(self) -> None:
        """Deliver again to a receiver that wanted no more events."""
        self._note(is_disabled=False, last_error="")

    @property
    def is_resting(self) -> bool:
        """True if the receiver does not answer, so that new events change nothing."""
        return self._failures > 1

    async def close(self) -> None:
        """Close the receiver."""
        await self._receiver.close()

    async def _count_waiting(self, now_s: float, *, is_idle: bool) -> None:
        """Note how many events wait; seldom while many do, because the database counts rows."""
        if is_idle or abs(now_s - self._counted_s) >= POLL_S:
            self._counted_s = now_s
            waiting = await asyncio.to_thread(self._outbox.waiting, self.status.name)
            self._note(waiting=waiting)

    async def _attempt_all(self, deliveries: Sequence[Delivery], width: int) -> list[Attempt]:
        """Send events, a few at once, until one fails; return those that were sent.

        They are of different passes, because a claim has one event of each pass.
        """
        left, found = iter(deliveries), list[Attempt]()

        async def send_next() -> None:
            for one in left:
                error = await self._attempt(one)
                found.append((one, error))
                if any(error for _, error in found):
                    return

        await asyncio.gather(*(send_next() for _ in range(width)))
        return found

    async def _record(self, found: Sequence[Attempt]) -> float:
        """Record what was accepted; return how long the sink must rest, in seconds."""
        accepted = [one for one, error in found if error is None]
        errors = [error for _, error in found if error]
        if accepted:
            await self._accept(accepted)
            self._note(last_error=next(map(str, errors), ""))
        # Several failures at once count as two: the receiver is away, not one event at fault.
        rests = [self._rest_after_s(error) for error in errors[: 1 if accepted else 2]]
        return max(rests, default=0.0)

    async def _attempt(self, delivery: Delivery) -> DeliveryError | None:
        """Send one event; return the error if it was not accepted."""
        try:
            await self._receiver.send(delivery)
        except DeliveryError as error:
            return await self._fail(delivery, error)
        except Exception as error:  # a receiver of another distribution, say
            return await self._fail(delivery, DeliveryError(type(error).__name__))
        return None

    async def _accept(self, deliveries: Sequence[Delivery]) -> None:
        """Record that the receiver has accepted events."""
        await asyncio.to_thread(self._outbox.confirm, deliveries, self._clock())
        if self.is_resting:
            await asyncio.to_thread(self._outbox.hasten, self.status.name, self._clock())
        self._failures = 0
        self._note(delivered=len(deliveries), last_success_s=self._clock())

    async def _fail(self, delivery: Delivery, error: DeliveryError) -> DeliveryError:
        self._note(failed_attempts=1, last_error=str(error))
        await self._keep_or_abandon(delivery, error)
        return error

    def _rest_after_s(self, error: DeliveryError) -> float:
        if isinstance(error, ReceiverGone):
            LOG.error("sink %s wants no more events: %s", self.status.name, error)
            self._note(is_disabled=True)
            return POLL_S
        if isinstance(error, Undeliverable):
            return 0.0
        self._failures += 1
        if self._failures == 1:
            return error.retry_after_s
        longest_s = exponential_s(self._failures - 2, FIRST_PAUSE_S, LONGEST_REST_S)
        return max(longest_s * random.uniform(0.5, 1), error.retry_after_s)

    async def _keep_or_abandon(self, delivery: Delivery, error: DeliveryError) -> None:
        """Plan the next attempt of a delivery, unless it is too old."""
        reason, now_s = str(error), self._clock()
        is_old = now_s - delivery.created_s > GIVE_UP_S and delivery.attempts >= LEAST_ATTEMPTS
        if is_old or isinstance(error, Undeliverable):
            LOG.error("sink %s: gave up %s: %s", delivery.sink, delivery.id, reason)
            self._note(abandoned=1)
            await asyncio.to_thread(self._outbox.abandon, delivery, reason, now_s)
            return
        longest_s = exponential_s(delivery.attempts, FIRST_PAUSE_S, LONGEST_PAUSE_S)
        due_s = now_s + max(longest_s * random.uniform(0.5, 1), error.retry_after_s)
        await asyncio.to_thread(self._outbox.postpone, delivery, reason, due_s)

    async def _release(self, deliveries: Sequence[Delivery], pause_s: float) -> None:
        """Make deliveries due when the one before them is."""
        due_s = self._clock() + pause_s
        for one in deliveries:
            await asyncio.to_thread(self._outbox.release, one, due_s)

    def _note(self, **changes: float | str | bool) -> None:
        """Update the status: counts are added, other values replaced."""
        counts = {"delivered", "failed_attempts", "abandoned"}
        values = dict(vars(self.status))
        for name, value in changes.items():
            values[name] = values[name] + value if name in counts else value
        self.status = SinkStatus(**values)


class Deliverer:
    """Runs the queues of all sinks side by side; none waits for another.

    Args:
        receivers: The receivers by the names of their sinks.
        outbox: The events that wait.
        clock: Returns the Unix time.
    """

    def __init__(
        self,
        receivers: Mapping[str, Receiver],
        outbox: Outbox,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._outbox = outbox
        self._queues = [SinkQueue(name, one, outbox, clock) for name, one in receivers.items()]
        self._wakers = [asyncio.Event() for _ in self._queues]

    @property
    def statuses(self) -> tuple[SinkStatus, ...]:
        return tuple(queue.status for queue in self._queues)

    @property
    def tasks(self) -> tuple[TaskStatus, ...]:
        """The states of the queues' tasks."""
        return ()

    async def drain(self, within_s: float) -> int:
        """Deliver what waits, for a limited time; `run` goes on meanwhile.

        Returns:
            The number of events that still wait.
        """
        ends_s = steady_s() + within_s
        self.wake()
        while steady_s() < ends_s:
            names = [one.name for one in self.statuses if not one.is_disabled]
            waiting = [await asyncio.to_thread(self._outbox.waiting, name) for name in names]
            if not any(waiting):
                return 0
            await asyncio.sleep(DRAIN_STEP_S)
        return sum(waiting)

    def enable(self) -> None:
        """Deliver again to receivers that wanted no more events; they may answer 410 again."""
        for queue in self._queues:
            if queue.status.is_disabled:
                queue.enable()

    def wake(self) -> None:
        """Look for new events at once. A sink that waits after a failure goes on waiting."""
        for waker in self._wakers:
            waker.set()

    async def run(self) -> None:
        """Deliver until the task is cancelled; then close all receivers."""
        pairs = zip(self._queues, self._wakers, strict=True)
        try:
            await asyncio.gather(*(_run_queue(queue, waker) for queue, waker in pairs))
        finally:
            await asyncio.gather(*(queue.close() for queue in self._queues))


async def _run_queue(
    queue: SinkQueue,
    waker: asyncio.Event,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    while True:
        waker.clear()
        try:
            pause_s = await queue.deliver_due()
        except PlateError as error:  # the database is away: the events are still in it
            LOG.error("sink %s: the store cannot be used: %s", queue.status.name, error)
            pause_s = POLL_S
        if queue.is_resting:
            await sleep(pause_s)
        elif pause_s:
            await is_set_within(waker, pause_s)
