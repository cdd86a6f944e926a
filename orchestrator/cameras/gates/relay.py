"""The relay of a gate: what every type of relay can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator.errors import PlateError


class RelayError(PlateError):
    """A relay did not do what was asked, or did not answer."""


@dataclass(frozen=True)
class OpeningRequest:
    """A vehicle for which a gate is to open.

    Attributes:
        gate: Name of the gate.
        camera: Name of the camera; empty if a person opens the gate.
        pass_id: Id of the pass; empty if a person opens the gate.
        text: Text of the plate.
        list: Name of the list.
        entry_text: Text of its entry.
        readable_s: Unix time of the frame from which the delay counts, see `GateOpening`; None if
            it is not known.
        note: Remark of a person who opens the gate.
    """

    gate: str
    camera: str = ""
    pass_id: str = ""
    text: str = ""
    list: str = ""
    entry_text: str = ""
    readable_s: float | None = None
    note: str = ""


class Relay(Protocol):
    """Switches the relay of one gate. Calls may be cancelled at any time."""

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
            RelayError: The relay refuses, or does not answer.
        """

    async def switch_off(self) -> None:
        """End the pulse.

        Raises:
            RelayError: The relay refuses, or does not answer.
        """

    async def close(self) -> None:
        """Close the connections."""
