"""Times after which a source counts as stalled or hung, and pauses before it is opened again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of all sources, in seconds.

    Attributes:
        open_s: Longest time to connect, and again to find the video.
        read_s: Longest time without data.
        hang_s: Age of a thread's heartbeat at which its process is ended. It must be greater than
            twice `open_s` and than `read_s`.
        first_pause_s: Pause after the first failure. Pauses double, with jitter.
        longest_pause_s: Longest pause.
        settled_s: Time after which a stream counts as well, so that pauses start anew.
        rest_look_s: Pause between looks at a scene that rests.
        frozen_s: Time without any change of the picture after which the stream is frozen.
    """

    open_s: float = 10.0
    read_s: float = 10.0
    hang_s: float = 30.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    settled_s: float = 10.0
    rest_look_s: float = 10.0
    frozen_s: float = 10.0
