"""The state of one source, as its process tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["connecting", "playing", "frozen", "waiting", "off", "ended"]
"""`frozen`: the stream repeats the same picture. `waiting`: it failed, and is opened again after a
pause. `off`: outside of the camera's hours. `ended`: a file is over."""


@dataclass(frozen=True)
class SourceStatus:
    """The state of one source.

    Attributes:
        state: What it does now.
        decoded: Frames that were decoded.
        sent: Frames that were sent to the watcher.
        dropped: Frames that were not sent because newer ones were there.
        reconnects: How often it was opened again.
        last_error: Reason of the last failure as a sentence; empty while it plays.
        delay_s: Age of the newest frame, seconds.
        size_wh: Size of the frames; zeros before the first.
        clock: Clock of the frames' times; empty before the first.
        is_resting: Only key frames are decoded, because nothing moves.
    """

    state: State = "connecting"
    decoded: int = 0
    sent: int = 0
    dropped: int = 0
    reconnects: int = 0
    last_error: str = ""
    delay_s: float = 0.0
    size_wh: tuple[int, int] = (0, 0)
    clock: str = ""
    is_resting: bool = False

    @property
    def dropped_share(self) -> float:
        """Share of the frames to send that were dropped."""
        return self.dropped / max(1, self.dropped + self.sent)
