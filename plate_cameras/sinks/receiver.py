"""Receivers of events, their errors, and calls of them that have limits of time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from orchestrator.errors import PlateError
from orchestrator.host.text_lines import to_line
from plate_cameras.clocks import wait_through
from plate_cameras.sinks.outbox import Delivery

MAX_WAIT_S = 86400.0
"""Longest pause that a receiver may ask for."""


class Receiver(Protocol):
    """One destination of events, such as a webhook."""

    async def send(self, delivery: Delivery) -> None:
        """Deliver one event; return when the destination has it.

        Raises:
            DeliveryError: It does not have the event; a later attempt may succeed.
            ReceiverGone: It wants no more events.
        """

    async def idle(self) -> None:
        """Keep the connection alive while there is nothing to send. It raises no errors."""

    async def close(self) -> None:
        """Close connections and files."""


class DeliveryError(PlateError):
    """An event was not delivered; a later attempt may succeed.

    Args:
        message: The reason. Receivers' own texts may be in it, so it becomes one short line.
        retry_after_s: Seconds that the receiver asks to wait, at most a day.

    Attributes:
        retry_after_s: Seconds that the receiver asks to wait, if it does.
        kind: The reason without details, for a label of metrics.
    """

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(to_line(message))
        is_time = retry_after_s > 0  # False for what is not a number
        self.retry_after_s = min(retry_after_s, MAX_WAIT_S) if is_time else 0.0
        self.kind = str(self).partition(":")[0]


class Undeliverable(DeliveryError):  # noqa: N818 - a state of the event
    """The event can never be delivered; the receiver is not at fault."""


class ReceiverGone(DeliveryError):  # noqa: N818 - a state of the receiver
    """The receiver wants no more events until an operator enables it again."""


SEND_LIMIT_S = 30.0
"""Timeout of a receiver for one event, or for a check that it can be reached."""
CLOSE_LIMIT_S = 5.0

Outcome = DeliveryError | None


class BoundedReceiver:
    """Calls a receiver. A call that takes too long is cancelled, and nobody waits for its end.

    Args:
        receiver: The receiver. It may raise anything, and refuse to be cancelled.

    Attributes:
        at_once: Number of events that may be on their way.
    """

    def __init__(self, receiver: Receiver) -> None:
        self.at_once: int = getattr(receiver, "at_once", 1)
        self._receiver = receiver

    async def send(self, delivery: Delivery, note: Callable[[Outcome], None]) -> Outcome:
        """Send one event. Return the error if it was not accepted.

        Args:
            delivery: The event.
            note: Gets the outcome as soon as it is known, also when this is cancelled meanwhile:
                an event whose answer is there must not be sent again.
        """
        sending = asyncio.create_task(_find_error(lambda: self._receiver.send(delivery)))
        try:
            await asyncio.wait({sending}, timeout=SEND_LIMIT_S)
        except asyncio.CancelledError:
            if sending.done():
                note(_outcome_of(sending))
            raise
        finally:
            is_over = sending.done()
            sending.cancel()
        late = DeliveryError(f"no answer within {SEND_LIMIT_S:g} s")
        outcome = _outcome_of(sending) if is_over else late
        note(outcome)
        return outcome

    async def idle(self) -> None:
        """Let the receiver keep its connection alive."""
        idling = asyncio.create_task(_find_error(self._receiver.idle))
        try:
            await asyncio.wait({idling}, timeout=SEND_LIMIT_S)
        finally:
            idling.cancel()

    async def close(self) -> Outcome:
        """Close the receiver; return the error if it cannot be closed."""
        closing = asyncio.create_task(_find_error(self._receiver.close))
        cancellation = await wait_through([closing], CLOSE_LIMIT_S)
        late = DeliveryError(f"not within {CLOSE_LIMIT_S:g} s")
        outcome = _outcome_of(closing) if closing.done() else late
        closing.cancel()
        if cancellation:
            raise cancellation
        return outcome


async def _find_error(call: Callable[[], Awaitable[None]]) -> Outcome:
    """Call a receiver; return its error. No exception of the receiver may end the event loop."""
    try:
        await call()
    except DeliveryError as error:
        return error
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # a receiver of another distribution, say
        return DeliveryError(type(error).__name__)
    return None


def _outcome_of(call: asyncio.Task[Outcome]) -> Outcome:
    """Return the outcome of a call that has ended. Only the receiver itself can have cancelled."""
    return DeliveryError("CancelledError") if call.cancelled() else call.result()
