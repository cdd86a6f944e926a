"""The progress of a camera in a child process, and the heartbeat of its thread."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from orchestrator.cameras.sources.status import State


@dataclass
class Progress:
    """Counts of one camera. Its thread writes them, another reads them.

    Attributes:
        number: Frames that the source has had, those that were not decoded included.
        beat_s: Time of the last heartbeat, by `time.monotonic`.
    """

    state: State = "connecting"
    number: int = 0
    decoded: int = 0
    reconnects: int = 0
    last_error: str = ""
    motion: bool = False
    beat_s: float = field(default_factory=time.monotonic)

    def beat(self) -> None:
        """Tell that the thread is alive."""
        self.beat_s = time.monotonic()
