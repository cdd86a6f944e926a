"""The state of one camera, for tables and metrics."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.host.text_lines import to_line
from plate_cameras.watching.camera_loop import CameraLoop

FAILED = "failed"
"""State of a camera between an exception and the next start."""
UP = ("playing", "off")
"""States of a camera that is seen, or is off by its schedule."""


@dataclass(frozen=True)
class CameraStatus:
    """The state of one camera.

    Attributes:
        state: State of its stream, such as `playing`; `failed` until it is started again.
        dropped: Frames that were not sent because newer ones were there.
        dropped_share: Their share of the frames to send.
        delay_s: Age of the newest frame, seconds.
        reconnects: How often the stream was opened again.
        error: The last error of the stream or the service; empty when all is well.
        is_live: False if it is a file, which has an end.
        is_service_up: False if the service did not answer the last frame.
        decoder_deaths: Ends of its decoder process that it may have caused.
        rejected: Frames that can never be read.
    """

    name: str
    state: str
    frames: int
    plates: int
    passes: int
    last_text: str
    dropped: int
    dropped_share: float
    delay_s: float
    reconnects: int
    error: str
    is_live: bool = True
    is_service_up: bool = True
    decoder_deaths: int = 0
    rejected: int = 0

    @property
    def is_up(self) -> bool:
        """True if the camera needs nobody's attention."""
        return self.state in UP or (self.state == "ended" and not self.is_live)

    @classmethod
    def of(cls, loop: CameraLoop) -> CameraStatus:
        """Return the state of a camera that is followed."""
        stream = loop.stream.status
        return cls(
            name=loop.camera.name,
            state=FAILED if loop.failure else stream.state,
            frames=loop.counts.frames,
            plates=loop.counts.plates,
            passes=loop.counts.passes,
            last_text=loop.counts.last_text,
            dropped=stream.dropped,
            dropped_share=stream.dropped_share,
            delay_s=stream.delay_s or 0.0,
            reconnects=stream.reconnects,
            error=to_line(loop.failure or loop.health.last_error or stream.last_error),
            is_live=loop.camera.is_live,
            is_service_up=not loop.health.failures,
            decoder_deaths=stream.deaths,
            rejected=loop.health.rejected_frames + stream.rejected,
        )
