"""The progress of a camera in a child process, and the heartbeat of its thread."""

from __future__ import annotations

from dataclasses import dataclass, field

from plate_cameras.clocks import steady_s
from plate_cameras.sources.status import State


@dataclass
class Progress:
    """Counts of one camera. Its thread writes them, another reads them.

    Attributes:
        number: Frames that the source has had, those that were not decoded included.
        beat_s: Time of the last heartbeat, by `clocks.steady_s`.
    """

    state: State = "connecting"
    number: int = 0
    decoded: int = 0
    reconnects: int = 0
    last_error: str = ""
    motion: bool = False
    beat_s: float = field(default_factory=steady_s)

    def beat(self) -> None:
        """Tell that the thread is alive."""
        self.beat_s = steady_s()
