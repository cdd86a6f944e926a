"""The relay of a gate: what every type of relay can do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from orchestrator.errors import PlateError
from orchestrator.host.text_lines import to_line
from plate_cameras.gates.reasons import to_sentence


class RelayError(PlateError):
    """A relay has not confirmed what was asked. It may have done it all the same.

    So a request to open is not sent again after it.

    Args:
        message: The reason. A device's own texts may be in it, so it becomes one short line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(to_line(message))


class NotSwitchedError(RelayError):
    """A relay has certainly not switched: no request has reached it, or it has rejected it."""


@dataclass(frozen=True)
class OpeningRequest:
    """A vehicle for which a gate is to open.

    Attributes:
        gate: Name of the gate.
        camera: Name of the camera.
        pass_id: Id of the pass.
        text: Text of the plate.
        list: Name of the list.
        entry_text: Text of its entry.
        readable_s: Steady time from which the delay counts, see `GateOpening`; None if it is not
            known.
    """

    gate: str
    camera: str = ""
    pass_id: str = ""
    text: str = ""
    list: str = ""
    entry_text: str = ""
    readable_s: float | None = None


class Relay(Protocol):
    """Switches the relay of one gate. Calls may be cancelled at any time.

    Each call has deadlines of its own, and raises nothing but the errors that it names.
    """

    @property
    def needs_off(self) -> bool:
        """True if the relay stays on until it is switched off."""

    async def prepare(self) -> None:
        """Connect, and find out whether the relay is there. Called now and then.

        Raises:
            RelayError: It is not.
        """

    async def switch_on(self, request: OpeningRequest) -> None:
        """Open the gate; return when the relay has confirmed it.

        Raises:
            NotSwitchedError: The gate has certainly not opened.
            RelayError: It may have opened.
        """

    async def switch_off(self) -> None:
        """End the pulse. It may be called again after a failure.

        Raises:
            RelayError: The relay refuses, or does not answer.
        """

    async def close(self) -> None:
        """Close the connections."""


def describe(error: Exception) -> str:
    """Return a failure as a sentence; of a foreign error only its kind, which has no secret."""
    if isinstance(error, asyncio.TimeoutError):
        return to_sentence("silent")
    return str(error) if isinstance(error, RelayError) else type(error).__name__
