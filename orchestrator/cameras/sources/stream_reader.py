"""Opens streams, devices and files with PyAV, and decodes their frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import av
import numpy as np

from orchestrator.cameras.frames import Clock
from orchestrator.cameras.motion import SIZE_WH, Luma

OPEN_S, READ_S = 10.0, 6.0
"""Longest wait for a connection, and for data."""
KEY_FRAMES, ALL_FRAMES = "NONKEY", "DEFAULT"
"""Values of FFmpeg's `skip_frame`."""
MOST_DRIFT_S = 1.0
"""The stream's time may differ from the arrival by so much; then its start is taken anew."""
LEAST_STEP_S = 1e-6
MICROSECONDS = 1_000_000


class StreamError(Exception):
    """A stream cannot be opened or read; the message has no address and no password."""


@dataclass(frozen=True)
class DecodedFrame:
    """A decoded frame.

    Attributes:
        video: The frame.
        time_s: Unix time, or seconds from the start of a file.
        is_key: Whether it is a key frame.
    """

    video: av.VideoFrame
    time_s: float
    is_key: bool

    @property
    def size_wh(self) -> tuple[int, int]:
        return self.video.width, self.video.height

    def to_luma(self) -> Luma:
        """Return the brightness at `SIZE_WH`, one pixel of each block."""
        frame = self.video
        if not frame.format.name.startswith(("yuv", "nv12", "nv21", "gray")):
            frame = frame.reformat(format="gray")
        plane = frame.planes[0]
        rows: Luma = np.frombuffer(memoryview(plane), np.uint8)
        rows = rows.reshape(plane.height, plane.line_size)
        ys = np.arange(SIZE_WH[1]) * plane.height // SIZE_WH[1]
        xs = np.arange(SIZE_WH[0]) * plane.width // SIZE_WH[0]
        luma: Luma = rows[ys[:, None], xs]
        return luma


class StreamReader:
    """An open source.

    Attributes:
        is_file: It ends, and its times count from its start.
        clock: The clock of its frames' times.

    Args:
        url: Address, device or path.
        wall_clock: Returns the Unix time.

    Raises:
        StreamError: It cannot be opened, or has no video.
    """

    def __init__(self, url: str, wall_clock: Callable[[], float] = time.time) -> None:
        self._wall_clock = wall_clock
        self._container = _open(url)
        self.is_file = is_file(url) or _is_remote_file(url, self._container)
        if not self._container.streams.video:
            self._container.close()
            raise StreamError("there is no video in it")
        self._stream = self._container.streams.video[0]
        self._stream.thread_type = "SLICE"  # threads for frames would give each some frames later
        self._start_s: float | None = None
        self._last_s = -1.0
        self.clock: Clock = "file" if self.is_file else "wall"

    def __enter__(self) -> StreamReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._container.close()

    def decode_key_frames_only(self, *, is_wanted: bool) -> None:
        """Decode key frames only, or all. Call this right after a key frame was decoded."""
        self._stream.codec_context.skip_frame = KEY_FRAMES if is_wanted else ALL_FRAMES

    def frames(self) -> Iterator[DecodedFrame]:
        """Yield the decoded frames to the end of the source.

        Times never go back, also when a stream's own clock becomes known only after some frames.

        Raises:
            StreamError: It cannot be read.
        """
        try:
            for packet in self._container.demux(self._stream):
                for frame in _decode(packet):
                    self._last_s = max(self._time_of(frame), self._last_s + LEAST_STEP_S)
                    yield DecodedFrame(frame, self._last_s, bool(frame.key_frame))
        except (av.FFmpegError, OSError) as error:
            raise StreamError(_describe(error)) from error

    def _time_of(self, frame: av.VideoFrame) -> float:
        """Return a frame's time by the best clock there is."""
        seconds = frame.time
        if self.is_file:
            first = (self._stream.start_time or 0) * (self._stream.time_base or 0)
            return max(0.0, (seconds or 0.0) - float(first))
        now = self._wall_clock()
        if seconds is None:
            return now
        realtime = getattr(self._container, "start_time_realtime", None) or 0
        if realtime > 0 and abs(realtime / MICROSECONDS + seconds - now) < 3600:
            self.clock = "stream"
            return realtime / MICROSECONDS + seconds
        if self._start_s is None or abs(self._start_s + seconds - now) > MOST_DRIFT_S:
            self._start_s = now - seconds
        return self._start_s + seconds


def is_file(url: str) -> bool:
    """Tell whether a source is a file, neither a stream nor a device."""
    return "://" not in url and not url.startswith("/dev/")


def _is_remote_file(url: str, container: Any) -> bool:
    """Tell whether an address gives a file: its length is known."""
    return url.startswith(("http://", "https://")) and bool(container.duration)


def _open(url: str) -> Any:
    options: dict[str, str] = {}
    file_format = None
    if url.startswith("/dev/"):
        file_format = "v4l2"
    elif urlsplit(url).scheme in ("rtsp", "rtsps"):
        options = {"rtsp_transport": "tcp", "timeout": str(round(READ_S * MICROSECONDS))}
    elif is_file(url) and not Path(url).is_file():
        raise StreamError("there is no such file")
    try:
        return av.open(url, format=file_format, options=options, timeout=(OPEN_S, READ_S))
    except (av.FFmpegError, OSError, ValueError) as error:
        raise StreamError(_describe(error)) from error


def _decode(packet: Any) -> Iterator[av.VideoFrame]:
    """Yield the frames of a packet; a damaged one has none."""
    try:
        yield from packet.decode()
    except av.error.InvalidDataError:
        return


def _describe(error: Exception) -> str:
    """Return the reason of an error. FFmpeg's own text has the address, which has a password."""
    reason = getattr(error, "strerror", None) or type(error).__name__
    return str(reason)
