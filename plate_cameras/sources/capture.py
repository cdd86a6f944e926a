"""Captures: open sources whose packets are read and decoded one by one, through PyAV."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from types import TracebackType
from typing import Protocol, TypeAlias

import av
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from plate_cameras.clocks import steady_s
from plate_cameras.sources.network.addresses import Address
from plate_cameras.sources.network.failures import AGAIN, SourceError, describe, describe_redirect
from plate_cameras.sources.network.policy import HTTP, MAX_PIXELS, MAX_REDIRECTS, RTSP, follow
from plate_cameras.sources.network.rtsp_guard import RtspGuard
from plate_cameras.sources.status import Limits

VideoPacket: TypeAlias = "av.Packet[av.VideoStream]"
MIN_OPEN_S = 0.1
MAX_PACKET_BYTES = 32_000_000
"""Largest number of bytes of one encoded frame. A JPEG file of 50 million pixels has 20 MB."""
PICTURE_SUFFIX = "_pipe"
"""End of FFmpeg's names of the formats of pictures."""
TIMES_MAY_JUMP = 0x0200
"""FFmpeg's flag AVFMT_TS_DISCONT of formats that were made to be cut and joined."""
WITHOUT_TIMES = frozenset({"mpjpeg", "mjpeg", "h264", "hevc"})
"""FFmpeg's names of formats without time stamps. FFmpeg makes some up, for 25 frames a second."""


class LiveCapture(Protocol):
    """A live stream whose packets are decoded one by one. See `Capture`."""

    has_times: bool

    @property
    def realtime_s(self) -> float | None: ...
    def packets(self) -> Iterator[VideoPacket]: ...
    def decode(self, packet: VideoPacket) -> list[VideoFrame]: ...
    def decode_alone(self, packet: VideoPacket) -> list[VideoFrame]: ...
    def flush(self) -> None: ...


class Capture:
    """An open source.

    Attributes:
        label: Its address without secrets.
        is_clip: True if it is a file, here or on a web server, and not a live stream.
        has_times: True if its time stamps come from the source.
        start_s: Time stamp at which a file begins; None if it is not known.
        rate: Frames a second as the source states them; None if it does not.
        may_jump: True if the time stamps of a file may jump, as in recordings that were joined.
        is_picture: True if the address gives one picture, not a stream.
    """

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        address: Address,
        guard: RtspGuard | None = None,
    ) -> None:
        self._container, self._stream, self._address = container, stream, address
        self._guard = guard
        self.label = address.label
        self.has_times = container.format.name not in WITHOUT_TIMES
        self.is_picture = not address.is_file and container.format.name.endswith(PICTURE_SUFFIX)
        self.is_clip = address.is_file or (not self.is_picture and _has_end(container))
        self.may_jump = bool(container.format.flags & TIMES_MAY_JUMP)
        self.start_s = _to_seconds(stream.start_time, stream.time_base)
        rate = stream.guessed_rate or stream.average_rate
        self.rate = float(rate) if rate else None

    @classmethod
    def open(cls, address: Address, limits: Limits) -> Capture:
        """Open a source and find its video. A redirect is followed as `policy.follow` allows.

        Raises:
            SourceError: It cannot be opened, or has no video.
        """
        for _ in range(MAX_REDIRECTS + 1):
            try:
                return cls._open_once(address, limits)
            except SourceError as error:
                if error.location is None:
                    raise
                url = follow(address.url, error.location)
                if url is None:
                    reason = describe_redirect(error.location)
                    raise SourceError(f"cannot open {address.label}: {reason}") from None
                address = address.moved_to(url)
        raise SourceError(f"cannot open {address.label}: {AGAIN}")

    @classmethod
    def _open_once(cls, address: Address, limits: Limits) -> Capture:
        started_s, guard = steady_s(), None
        try:
            guard = RtspGuard(address, limits.open_s) if address.kind == RTSP else None
            left_s = max(MIN_OPEN_S, limits.open_s - (steady_s() - started_s))
            container = av.open(
                guard.url if guard else address.url,
                mode="r",
                format=address.format,
                options=address.options,
                timeout=(left_s, limits.read_s),
            )
        except (av.FFmpegError, OSError, ValueError) as error:
            has_timed_out = steady_s() - started_s >= min(limits.open_s, limits.read_s)
            failure = describe(error, address, "open", has_timed_out=has_timed_out)
            location = guard.close() if guard else _find_location(address, error, limits)
            raise SourceError(failure, location) from None
        try:
            return cls(container, prepare(container, address), address, guard)
        except SourceError:
            close(container, guard)
            raise

    def use_all_cores(self) -> None:
        """Decode several frames at once, from before the first packet on; they come out later."""
        self._stream.codec_context.thread_count = 0
        self._stream.codec_context.thread_type = "AUTO"

    @property
    def realtime_s(self) -> float | None:
        """Unix time of the time stamp 0 by the camera; None until it has sent it."""
        start_us = getattr(self._container, "start_time_realtime", None)  # PyAV 18 or newer
        return start_us / 1e6 if start_us else None

    def packets(self) -> Iterator[VideoPacket]:
        """Read packets until the source ends. The last ones are empty and drain the decoder.

        Raises:
            SourceError: The source cannot be read any more.
        """
        try:
            for packet in self._container.demux(self._stream):
                if packet.size > MAX_PACKET_BYTES:
                    raise SourceError(f"cannot read {self.label}: {_describe_packet(packet)}")
                yield packet
        except (av.FFmpegError, OSError) as error:
            raise SourceError(describe(error, self._address, "read")) from None

    def decode(self, packet: VideoPacket | None) -> list[VideoFrame]:
        """Decode a packet.

        Raises:
            av.FFmpegError: The packet is damaged.
        """
        return self._stream.codec_context.decode(packet)

    def decode_alone(self, packet: VideoPacket) -> list[VideoFrame]:
        """Decode a key frame, and return it at once, even if the codec reorders frames.

        Raises:
            av.FFmpegError: The packet is damaged.
        """
        self.flush()
        try:
            return self.decode(packet) + self.decode(None)
        finally:
            self.flush()

    def flush(self) -> None:
        """Forget all frames. The next packet to decode must be a key frame."""
        self._stream.codec_context.flush_buffers()

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        close(self._container, self._guard)


def close(container: InputContainer, guard: RtspGuard | None = None) -> None:
    """Close a source in any state."""
    with suppress(av.FFmpegError, OSError):
        container.close()
    if guard:
        guard.close()


def prepare(container: InputContainer, address: Address) -> VideoStream:
    """Return the video of an open source, whose frames are limited in size.

    Raises:
        SourceError: It has no video, or its frames are too large.
    """
    if not container.streams.video:
        raise SourceError(f"cannot open {address.label}: it has no video")
    stream = container.streams.video[0]
    context = stream.codec_context
    if context.width * context.height > MAX_PIXELS:
        raise SourceError(
            f"cannot open {address.label}: wanted frames of at most"
            f" {MAX_PIXELS / 1e6:g} million pixels, got {context.width}x{context.height}"
        )
    context.thread_count = 1
    context.options = {**context.options, "max_pixels": str(MAX_PIXELS)}
    return stream


def _describe_packet(packet: VideoPacket) -> str:
    return f"wanted frames of at most {MAX_PACKET_BYTES / 1e6:g} MB, got {packet.size / 1e6:.0f} MB"


def _find_location(address: Address, error: Exception, limits: Limits) -> str | None:
    """Return where a web server redirects to. FFmpeg only reports a failed connection."""
    if address.kind != HTTP or getattr(error, "errno", None) != errno.EIO:
        return None
    from plate_cameras.sources.network.http_client import find_location  # aiohttp is large

    return find_location(address, limits.read_s)


def seconds_of(part: VideoFrame | VideoPacket) -> float | None:
    """Return the time stamp of a frame or packet in seconds; None if it has none."""
    return _to_seconds(part.pts, part.time_base)


def _to_seconds(ticks: int | None, time_base: Fraction | None) -> float | None:
    return None if ticks is None or time_base is None else float(ticks * time_base)


def _has_end(container: InputContainer) -> bool:
    """Tell whether a web server sends a file: its length and its size are known."""
    with suppress(av.FFmpegError, OSError):
        return bool(container.duration and container.duration > 0 and container.size > 0)
    return False
