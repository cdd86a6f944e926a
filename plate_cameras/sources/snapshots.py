"""Cameras that send one picture a request: it is requested again and again.

Many cameras have such an address beside their stream, and some have nothing else.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

import aiohttp
import av
from av.container import InputContainer
from av.video.frame import VideoFrame

from plate_cameras.clocks import steady_s
from plate_cameras.sources.capture import VideoPacket, prepare
from plate_cameras.sources.network.addresses import Address
from plate_cameras.sources.network.failures import NO_VIDEO, SourceError
from plate_cameras.sources.network.http_client import HttpClient, describe_failure
from plate_cameras.sources.network.policy import PICTURE_OPTIONS

MAX_PER_S = 10.0
"""Largest number of pictures a second that are requested. Small cameras cannot send more."""


class SnapshotCapture:
    """Pictures of one camera as a stream: each is a packet. It has the methods of `Capture`.

    Args:
        looks_per_s: Looks a second that are wanted.
        timeout_s: Longest time for one picture, redirects and logins included.
    """

    has_times = False
    realtime_s: float | None = None

    def __init__(self, address: Address, looks_per_s: float, timeout_s: float) -> None:
        self._address, self._timeout_s = address, timeout_s
        self._pause_s = 1 / min(looks_per_s, MAX_PER_S)
        self._container: InputContainer | None = None
        self._loop = asyncio.new_event_loop()
        self._client = HttpClient(address)

    @property
    def label(self) -> str:
        """Its address without secrets."""
        return self._address.label

    def packets(self) -> Iterator[VideoPacket]:
        """Request pictures for ever, one at a time.

        Raises:
            SourceError: A request fails, or its answer is no picture.
        """
        while True:
            next_s = steady_s() + self._pause_s
            yield self._packet_of(self._request())
            time.sleep(max(0.0, next_s - steady_s()))

    def decode(self, packet: VideoPacket) -> list[VideoFrame]:
        """Decode a picture.

        Raises:
            av.FFmpegError: It is damaged.
        """
        context = packet.stream.codec_context
        context.flush_buffers()
        return context.decode(packet) + context.decode(None)

    decode_alone = decode

    def flush(self) -> None:
        """Have nothing to forget: no picture refers to another."""

    def _request(self) -> bytes:
        try:
            return self._loop.run_until_complete(
                asyncio.wait_for(self._client.fetch(), self._timeout_s)
            )
        except SourceError as error:
            reason = str(error)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            reason = describe_failure(error)
        raise SourceError(f"cannot read {self.label}: {reason}")

    def _packet_of(self, picture: bytes) -> VideoPacket:
        self._close_container()
        try:
            container = self._container = av.open(
                io.BytesIO(picture), mode="r", options=PICTURE_OPTIONS
            )
            stream = prepare(container, self._address)
            return next(packet for packet in container.demux(stream) if packet.size)
        except (av.FFmpegError, StopIteration, OSError):
            raise SourceError(f"cannot read {self.label}: {NO_VIDEO}") from None

    def _close_container(self) -> None:
        if self._container is not None:
            with suppress(av.FFmpegError, OSError):
                self._container.close()

    def __enter__(self) -> SnapshotCapture:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close_container()
        self._loop.run_until_complete(self._client.close())
        self._loop.close()
