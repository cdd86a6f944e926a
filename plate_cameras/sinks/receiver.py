"""A receiver takes events one by one, and the errors with which it does not."""

from __future__ import annotations

from typing import Protocol

from orchestrator.errors import PlateError
from orchestrator.host.text_lines import MAX_CHARACTERS as MAX_CHARACTERS
from orchestrator.host.text_lines import to_line
from plate_cameras.sinks.outbox import Delivery

MAX_WAIT_S = 86400.0


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
