"""A frame of a camera, as it is sent to the service and kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

Clock = Literal["stream", "wall", "file"]
"""The clock of a frame's time: the stream's own, this machine's at arrival, or a file's, whose time
counts from the file's start."""

Xyxy = tuple[float, float, float, float]
"""Corners of a box in pixels of the frame: left, top, right, bottom."""


@dataclass(frozen=True)
class Upload:
    """The message or file by which a camera has sent a frame. Such a frame is never left out.

    Attributes:
        digest: Digest of the message or file. One that comes again makes the same pass.
        finish: Forgets the message or file, when its passes are stored.
        reject: Puts it aside instead, because it cannot be read.
        text: The camera's own reading in Latin look-alikes; empty for none.
        score: Its score, in [0, 1].
    """

    digest: bytes
    finish: Callable[[], Awaitable[None]]
    reject: Callable[[], Awaitable[None]]
    text: str = ""
    score: float = 0.0


@dataclass(frozen=True)
class Frame:
    """One frame of a camera.

    Attributes:
        number: Number of the frame since its source was opened; frames that were dropped count.
        time_s: Unix time in seconds, to store and to show. With the clock `file`, seconds from the
            start of the file, to which the start of the file's recording may be added.
        clock: The clock of `time_s`.
        jpeg: The picture as a JPEG file. These bytes are sent to the service and kept.
        size_wh: Size of the picture, pixels.
        steady_s: The same moment by `clocks.steady_s`, from the frame's arrival; None for a file.
        upload: The message or file that the frame came in; None for one of a stream or clip.
    """

    camera: str
    number: int
    time_s: float
    clock: Clock
    jpeg: bytes = field(repr=False)
    size_wh: tuple[int, int]
    steady_s: float | None = None
    upload: Upload | None = field(default=None, repr=False)

    @property
    def moment_s(self) -> float:
        """The time from which durations are counted: steady, or that of a file."""
        return self.time_s if self.steady_s is None else self.steady_s
