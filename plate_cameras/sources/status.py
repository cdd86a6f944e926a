"""The status of a source, and the limits after which it counts as stalled or hung."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from plate_cameras.clocks import steady_s
from plate_cameras.frames import Clock


@dataclass(frozen=True)
class Limits:
    """Limits of all sources, in seconds.

    Attributes:
        open_s: Longest time to connect, and again to find the video.
        read_s: Longest time without data.
        hang_s: Age of a thread's heartbeat at which its process is ended. It must be greater than
            twice `open_s` and than `read_s`.
        first_pause_s: Pause after the first failure. Pauses double, with jitter.
        max_pause_s: Longest pause.
        settled_s: Time after which a stream counts as well, so that pauses start anew.
        rest_look_s: Pause between looks at a scene that rests.
        frozen_s: Time without any change of the picture after which the stream is frozen.
    """

    open_s: float = 10.0
    read_s: float = 10.0
    hang_s: float = 30.0
    first_pause_s: float = 1.0
    max_pause_s: float = 60.0
    settled_s: float = 10.0
    rest_look_s: float = 10.0
    frozen_s: float = 10.0


State = Literal["connecting", "playing", "frozen", "waiting", "off", "ended"]
"""`frozen`: frames come, but they are all the same. `waiting`: the stream is opened again after a
pause. `off`: the schedule has closed it. `ended`: a file is at its end."""


@dataclass(frozen=True)
class SourceStatus:
    """The state and the counts of a source.

    Attributes:
        dropped: Looks that were due, but for which nobody asked in time.
        reconnects: Times that the source was opened again after a failure.
        deaths: Ends of its decoder process that it may have caused.
        rejected: Pictures that are damaged or too large.
        last_error: The last failure as a sentence; empty if there was none.
        delay_s: Age of the newest frame when it arrived; None for files.
        size_wh: Size of the newest frame, pixels.
        last_frame_s: Time of the newest frame by its clock.
        motion: True if something moves, so that all frames are decoded.
    """

    state: State = "connecting"
    decoded: int = 0
    sent: int = 0
    dropped: int = 0
    reconnects: int = 0
    deaths: int = 0
    rejected: int = 0
    last_error: str = ""
    delay_s: float | None = None
    size_wh: tuple[int, int] | None = None
    clock: Clock | None = None
    last_frame_s: float | None = None
    motion: bool = False

    @property
    def dropped_share(self) -> float:
        """Share of the looks that were dropped, in [0, 1]."""
        return self.dropped / max(1, self.sent + self.dropped)


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
