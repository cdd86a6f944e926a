"""Delivers the events of one sink, at its own pace."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from orchestrator.errors import PlateError
from orchestrator.host.retry import exponential_s
from plate_cameras.clocks import is_set_within, steady_s, unix_s, wait_through
from plate_cameras.sinks.claims import FIRST_PAUSE_S, Claims
from plate_cameras.sinks.outbox import Delivery, Outbox, OutboxThread
from plate_cameras.sinks.receiver import (
    SEND_LIMIT_S,
    BoundedReceiver,
    DeliveryError,
    Receiver,
    ReceiverGone,
    Undeliverable,
)
from plate_cameras.sinks.sink_status import LOG, FailureLog, SinkStatus

BATCH = 10
"""Number of deliveries that a sink claims at once, as a multiple of those that its receiver takes
at once."""
TURNS = 5
"""Events that are recorded together, as a multiple of those that a receiver takes at once. When the
process is killed before that, they are sent again."""
LEASE_S = 300.0
"""Time for which a claimed delivery is reserved."""
MAX_REST_S = 600.0
"""Longest pause of a sink whose deliveries fail one after the other; it doubles from the first."""
POLL_S = 2.0
"""Interval at which a sink looks for deliveries whose pause is over."""
STOP_LIMIT_S = 3.0
"""Longest wait of a stop for events that are being sent."""

Attempt = tuple[Delivery, DeliveryError | None]


class SinkQueue:
    """Delivers the events of one sink. The events of a pass keep their order.

    A receiver that has the attribute `at_once` gets so many events at the same time. After a failed
    attempt the next event is tried, because the first may be at fault. If that fails as well, the
    sink rests.

    However a batch ends, the outbox gets the outcome of each claimed event: accepted, failed, or
    given back.

    Args:
        receiver: Its receiver. Everything that it does has a limit of time.
        outbox: The events that wait.
    """

    def __init__(
        self,
        name: str,
        receiver: Receiver,
        outbox: Outbox,
        clock: Callable[[], float] = unix_s,
        steady: Callable[[], float] = steady_s,
    ) -> None:
        self.status = SinkStatus(name)
        self._receiver = BoundedReceiver(receiver)
        self._outbox, self._steady = outbox, steady
        self._claims = Claims(name, outbox, clock)
        self._thread = OutboxThread(f"sink {name}")
        self._turn = asyncio.Lock()
        self._waker = asyncio.Event()
        self._log = FailureLog(f"sink {name} cannot deliver", f"sink {name} delivers again")
        self._store_log = FailureLog(
            f"sink {name}: the store cannot be used", f"sink {name}: the store can be used again"
        )
        self._failures, self._asked_rest_s = 0, 0.0
        self._counted_s = float("-inf")
        self._at_once = self._receiver.at_once

    @property
    def is_resting(self) -> bool:
        """True if the receiver does not answer or wants a pause: new events change nothing."""
        return self._failures > 1 or self._asked_rest_s > 0

    def enable(self) -> None:
        """Deliver again to a receiver that wanted no more events, the oldest events first."""
        self._claims.must_hasten = True
        self._note(is_disabled=False, last_error="", failure="")
        self.wake()

    def wake(self) -> None:
        """Look for new events at once. A sink that rests goes on resting."""
        self._waker.set()

    async def run(self) -> None:
        """Deliver until the task is cancelled."""
        while True:
            self._waker.clear()
            pause_s = await self._deliver_or_tell()
            if self.is_resting:
                await asyncio.sleep(pause_s)
            elif pause_s:
                await is_set_within(self._waker, pause_s)

    async def drain(self) -> None:
        """Deliver until nothing waits, or the receiver wants no more events."""
        while not await self._is_drained():
            pause_s = await self._deliver_or_tell()
            if pause_s and not await self._is_drained():
                await asyncio.sleep(pause_s)

    async def deliver_due(self) -> float:
        """Deliver the events that are due; return the seconds until further events may be due.

        Raises:
            PlateError: The store cannot be used. The events are still in it.
        """
        async with self._turn:
            await self._record()
            if self.status.is_disabled:
                return POLL_S
            rest_s = 0.0
            try:
                is_empty, rest_s = await self._deliver_batch()
            finally:
                await self._give_back(rest_s)
            return rest_s or (POLL_S if is_empty or self.status.is_disabled else 0.0)

    async def count_waiting(self) -> None:
        """Note how many events wait, if the store can be used."""
        self._counted_s, name = self._steady(), self.status.name
        with suppress(PlateError):
            self._note(waiting=await self._thread.run(lambda: self._outbox.waiting(name)))

    async def close(self) -> None:
        """Close the receiver. If this takes too long, it is not awaited any more."""
        if error := await self._receiver.close():
            LOG.warning("sink %s: its receiver cannot be closed: %s", self.status.name, error)

    async def _is_drained(self) -> bool:
        await self.count_waiting()
        return not self.status.waiting or self.status.is_disabled

    async def _deliver_or_tell(self) -> float:
        """Deliver what is due. An error of the store is logged once, not each time."""
        try:
            pause_s = await self.deliver_due()
        except PlateError as error:
            self._store_log.note(str(error))
            return POLL_S
        self._store_log.note("")
        return pause_s

    async def _deliver_batch(self) -> tuple[bool, float]:
        """Claim and send. Return whether there was nothing, and how long the sink must rest."""
        # A send that begins later could end after the lease, when others may send the event, too.
        last_start_s = self._steady() + LEASE_S - 2 * SEND_LIMIT_S
        await self._thread.run(lambda: self._claims.claim(BATCH * self._at_once, LEASE_S))
        is_empty = not self._claims.next(1)
        if is_empty or self._steady() - self._counted_s >= POLL_S:
            await self.count_waiting()
        if is_empty:
            await self._receiver.idle()
        rest_s = self._asked_rest_s = 0.0
        while not (rest_s or self.status.is_disabled) and self._steady() < last_start_s:
            # After a failure, one event at a time shows whether the receiver answers.
            width = 1 if self._failures else self._at_once
            chunk = self._claims.next(width * TURNS if width > 1 else 1)
            attempts = await self._attempt_all(chunk, width, last_start_s)
            if not attempts:
                break
            rest_s = await self._judge(attempts)
        return is_empty, rest_s

    async def _attempt_all(
        self, deliveries: Sequence[Delivery], width: int, last_start_s: float
    ) -> list[Attempt]:
        """Send events, a few at once, until one fails; return those that were sent.

        They are of different passes, because a claim has one event of each pass. A cancellation
        waits a moment for the answers to events that are being sent.
        """
        remaining, attempts, is_stopped = iter(deliveries), list[Attempt](), asyncio.Event()

        async def send_next() -> None:
            for delivery in remaining:
                note = partial(self._claims.note, delivery)
                attempts.append((delivery, await self._receiver.send(delivery, note)))
                is_over = is_stopped.is_set() or self._steady() >= last_start_s
                if is_over or any(error for _, error in attempts):
                    return

        senders = [asyncio.create_task(send_next()) for _ in range(min(width, len(deliveries)))]
        try:
            if senders:
                await asyncio.wait(senders)
        except asyncio.CancelledError:
            is_stopped.set()
            await wait_through(senders, STOP_LIMIT_S)
            raise
        finally:
            for sender in senders:
                sender.cancel()
            await wait_through(senders, STOP_LIMIT_S)
        return attempts

    async def _judge(self, attempts: Sequence[Attempt]) -> float:
        """Record how attempts went; return how long the sink must rest, in seconds."""
        errors = [error for _, error in attempts if error]
        successes = len(attempts) - len(errors)
        if successes:
            self._claims.must_hasten |= self._failures > 1
            self._failures = 0
        first_error = errors[0] if errors else None
        failure = first_error.kind if first_error else ""
        self._note(last_error=str(first_error or ""), failure=failure)
        self._note(delivered=successes, failed_attempts=len(errors))
        # Several failures at once count as two: the receiver is away, not one event at fault.
        rests = [self._rest_after_s(error) for error in errors[: 1 if successes else 2]]
        gone_error = next((error for error in errors if isinstance(error, ReceiverGone)), None)
        if gone_error:
            LOG.error("sink %s wants no more events: %s", self.status.name, gone_error)
            self._note(is_disabled=True)
        abandoned_ids = await self._record()
        reasons = (
            str(error) for delivery, error in attempts if error and delivery.id not in abandoned_ids
        )
        reason = next(reasons, "")
        if not gone_error and (reason or successes):
            self._log.note(reason)
        return max(rests, default=0.0)

    def _rest_after_s(self, error: DeliveryError) -> float:
        if isinstance(error, (ReceiverGone, Undeliverable)):
            return 0.0
        self._failures += 1
        self._asked_rest_s = error.retry_after_s
        if self._failures == 1:
            return error.retry_after_s
        longest_s = exponential_s(self._failures - 2, FIRST_PAUSE_S, MAX_REST_S)
        return max(longest_s * random.uniform(0.5, 1), error.retry_after_s)

    async def _record(self) -> set[str]:
        """Record accepted and failed events in the outbox; return the abandoned ones."""
        if self._claims.are_settled and not self._thread.is_busy:
            return set()
        abandoned_ids = await self._thread.run(self._claims.record)
        self._note(abandoned=len(abandoned_ids))
        return abandoned_ids

    async def _give_back(self, pause_s: float) -> None:
        """Tell the outbox what became of the batch. The next round tells what it cannot take."""

        def settle() -> set[str]:
            abandoned_ids = self._claims.record()
            self._claims.release(pause_s)
            return abandoned_ids

        if self._claims.are_settled and not self._thread.is_busy:
            return
        try:  # also after a call that hangs: it may be a claim
            self._note(abandoned=len(await self._thread.run(settle, is_needed=True)))
        except Exception as error:  # raised here, it would hide a cancellation
            self._store_log.note(f"{type(error).__name__}: {error}")

    def _note(self, **changes: Any) -> None:
        self.status = self.status.update(**changes)
