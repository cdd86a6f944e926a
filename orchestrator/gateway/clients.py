"""Who calls, and what that client may have."""

from __future__ import annotations

from dataclasses import dataclass

GATE, USUAL, ARCHIVE = 0, 1, 2


@dataclass(frozen=True)
class Client:
    """One caller: a key's, or an address's.

    Attributes:
        name: `key:NAME` of its key, else its IP address.
        calls: Most of its calls at once, those that wait included.
        rate: Most of its calls a second; as many may come at once after a pause.
        priority: Whose call waits least: 0 before 1 before 2.
    """

    name: str
    calls: int
    rate: float
    priority: int = USUAL
