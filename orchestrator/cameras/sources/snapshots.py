"""Cameras that send one picture a request: it is requested again and again.

Many cameras have such an address beside their stream, and some have nothing else.
"""

from __future__ import annotations

import asyncio
import io
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from urllib.parse import unquote, urlsplit

import aiohttp
import av
from av.container import InputContainer
from av.video.frame import VideoFrame
from yarl import URL

from orchestrator.cameras.camera_urls import show
from orchestrator.cameras.clocks import steady_s
from orchestrator.cameras.sources.addresses import Address
from orchestrator.cameras.sources.capture import VideoPacket, prepare
from orchestrator.cameras.sources.failures import (
    CLOSED,
    NO_DATA,
    NO_VIDEO,
    REFUSED,
    UNREACHABLE,
    UNTRUSTED,
    SourceError,
    describe_status,
)

MAX_PER_S = 10.0
"""Most pictures a second that are requested. Small cameras cannot send more."""
MAX_BYTES = 20_000_000
MAX_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)


class SnapshotCapture:
    """Pictures of one camera as a stream: each is a packet. It has the methods of `Capture`.

    Args:
        address: Address of the picture.
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
        self._client = _Client(address)

    @property
    def shown(self) -> str:
        """Its address without secrets."""
        return self._address.shown

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
            reason = _describe(error)
        raise SourceError(f"cannot read {self.shown}: {reason}")

    def _packet_of(self, picture: bytes) -> VideoPacket:
        self._close_container()
        try:
            container = self._container = av.open(io.BytesIO(picture), mode="r")
            stream = prepare(container, self._address)
            return next(packet for packet in container.demux(stream) if packet.size)
        except (av.FFmpegError, StopIteration):
            raise SourceError(f"cannot read {self.shown}: {NO_VIDEO}") from None

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


class _Client:
    """Requests pictures over one connection, with the login that the camera wants."""

    def __init__(self, address: Address) -> None:
        parts = urlsplit(address.url)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._url = URL(address.url).with_user(None)
        self._context = _tls_context(address)
        self._session: aiohttp.ClientSession | None = None
        self._login: dict[str, str] = {}

    async def fetch(self) -> bytes:
        """Return the picture.

        Raises:
            SourceError: The answer is no picture.
            aiohttp.ClientError, OSError, ValueError: There is no answer, or none in HTTP.
        """
        url = self._url
        for _ in range(MAX_REDIRECTS + 1):
            async with self._get_session().get(
                url, headers=self._login, ssl=self._context, allow_redirects=False
            ) as response:
                if response.status in REDIRECTS:
                    url = self._follow(url, response)
                elif response.status == 401 and self._may_login(response):
                    login = b64encode(f"{self._user}:{self._password}".encode()).decode()
                    self._login = {"Authorization": f"Basic {login}"}
                elif response.status == 200:
                    return await _read(response)
                else:
                    raise SourceError(describe_status(response.status))
        raise SourceError("it redirects again and again")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _get_session(self) -> aiohttp.ClientSession:
        """Return the session. A digest login is answered by itself; a basic one by `fetch`."""
        if self._session is None:
            digest = aiohttp.DigestAuthMiddleware(self._user, self._password)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=1),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(digest,) if self._user else (),
            )
        return self._session

    def _may_login(self, response: aiohttp.ClientResponse) -> bool:
        challenges = " ".join(response.headers.getall("WWW-Authenticate", [])).lower()
        return bool(self._user) and not self._login and "basic" in challenges

    def _follow(self, url: URL, response: aiohttp.ClientResponse) -> URL:
        """Return where to go on: only on the same host, which alone may see the password."""
        target = url.join(URL(response.headers.get("Location", "")))
        if target.scheme not in ("http", "https") or target.host != self._url.host:
            raise SourceError(
                f"it redirects to {show(str(target))}, another host. Write that address into url"
            )
        if url.scheme == "https" and target.scheme == "http":
            raise SourceError("it redirects from https to http, which anybody can read")
        return target.with_user(None)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    picture = bytearray()
    async for chunk in response.content.iter_chunked(1 << 16):
        picture += chunk
        if len(picture) > MAX_BYTES:
            raise SourceError(f"wanted a picture of at most {MAX_BYTES / 1e6:g} MB, got more")
    return bytes(picture)


def _tls_context(address: Address) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=address.options.get("ca_file"))
    if address.options.get("tls_verify") != "1":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _describe(error: Exception) -> str:
    """Return a sentence. The text of the error may hold the URL and is not used."""
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return NO_DATA
    if isinstance(error, aiohttp.ClientSSLError):
        return UNTRUSTED
    if isinstance(error, aiohttp.ClientConnectorError):
        is_refused = isinstance(error.os_error, ConnectionRefusedError)
        return REFUSED if is_refused else UNREACHABLE
    if isinstance(error, (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError)):
        return CLOSED
    return "its answer is no HTTP"
