"""A guard between FFmpeg and an RTSP camera: it keeps redirects from FFmpeg.

FFmpeg follows each redirect of an RTSP server to any host and port, and has no option against it.
So it gets a port of this machine instead. The guard has a connection to the camera, and passes all
bytes on. It reads the camera's answers until the stream plays; later FFmpeg follows no redirect.

Source: FFmpeg 8.1, `libavformat/rtsp.c`.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import cast
from urllib.parse import urlsplit

from plate_cameras.clocks import steady_s
from plate_cameras.sources.network.addresses import Address, make_tls_context
from plate_cameras.sources.network.policy import PORTS

REDIRECT = re.compile(rb"RTSP/\S*\s+\+?0*3\d\d(?!\d)")
"""Beginning of an answer that redirects, as FFmpeg reads it: without carriage returns."""
LOCATION = re.compile(rb"^location:[ \t]*([^\n]*)\n", re.IGNORECASE | re.MULTILINE)
HEAD_END = b"\n\n"
MAX_ANSWERS_BYTES = 1 << 18
"""Largest total of the answers' bytes before a stream plays: its description, and some lines for
each answer."""
MAX_LINE_BYTES = 4096
"""FFmpeg reads no more of a line."""
PLAY = b"PLAY "
END_S = 1.0


class RtspGuard:
    """One connection to a camera, and a port at which FFmpeg finds it.

    Args:
        timeout_s: Longest time to connect, TLS included.

    Attributes:
        url: The URL for FFmpeg.

    Raises:
        OSError: The camera cannot be reached, or its certificate is not trusted.
    """

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._location: str | None = None
        self._answers = bytearray()
        self._redirect_at: int | None = None
        self._is_playing = False
        parts = urlsplit(address.url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        deadline_s = steady_s() + timeout_s
        connection = socket.create_connection((host, port), timeout_s)
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(
            self._serve(connection, make_tls_context(address) if address.has_tls else None, host)
        )
        self._deadline_s, self._port = deadline_s, Future[int]()
        threading.Thread(target=self._run, name="rtsp guard", daemon=True).start()
        login, at, _ = parts.netloc.rpartition("@")
        here = f"{login}{at}127.0.0.1:{self._port.result()}"
        self.url = parts._replace(scheme="rtsp", netloc=here).geturl()

    def close(self) -> str | None:
        """Close both connections. Return where the camera redirects to; None if it does not."""
        with suppress(RuntimeError):  # the loop is closed, and so are they
            self._loop.call_soon_threadsafe(self._task.cancel)
        return self._location

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # the caller reports it, or FFmpeg finds its connection closed
            if not self._port.done():
                self._port.set_exception(error if isinstance(error, OSError) else TimeoutError())
        finally:
            self._loop.close()

    async def _serve(
        self, connection: socket.socket, context: ssl.SSLContext | None, host: str
    ) -> None:
        """Connect both sides, and forward bytes until one of them ends."""
        camera, player = _Side(self._check_answer), _Side(self._check_request)
        camera.peer, player.peer = player, camera
        try:
            connecting = self._loop.create_connection(
                lambda: camera,
                sock=connection,
                ssl=context,
                server_hostname=host if context else None,
            )
            await asyncio.wait_for(connecting, self._deadline_s - steady_s())
            with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
                listener.setblocking(False)
                self._port.set_result(listener.getsockname()[1])
                player_socket, _ = await self._loop.sock_accept(listener)
            await self._loop.connect_accepted_socket(lambda: player, player_socket)
            ends = {camera.end_future, player.end_future}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await asyncio.wait({camera.end(), player.end()}, timeout=END_S)

    def _check_request(self, request: bytes) -> bool:
        """Take a request of FFmpeg. The answers to `PLAY`, and later ones, are not read."""
        self._is_playing = self._is_playing or request.startswith(PLAY)
        return True

    def _check_answer(self, answer: bytes) -> bool:
        """Tell whether FFmpeg may have an answer. Answers that redirect are held back."""
        if self._is_playing:
            return True
        known_bytes = len(self._answers)
        self._answers += answer.replace(b"\r", b"")
        if self._redirect_at is None:
            start = max(0, known_bytes - MAX_LINE_BYTES)
            match = REDIRECT.search(self._answers, start)
            self._redirect_at = match.start() if match else None
        if len(self._answers) > MAX_ANSWERS_BYTES:
            raise ConnectionAbortedError
        if self._redirect_at is None:
            return True
        if HEAD_END in self._answers[self._redirect_at :]:
            match = LOCATION.search(self._answers, self._redirect_at)
            self._location = match[1].decode(errors="replace").strip() if match else ""
            raise ConnectionAbortedError
        return False


class _Side(asyncio.Protocol):
    """One of the two connections.

    It forwards the received bytes to the other, as fast as that accepts them.

    Args:
        check: Tells whether the other may get the bytes. It may raise `ConnectionAbortedError`.
    """

    peer: _Side

    def __init__(self, check: Callable[[bytes], bool]) -> None:
        self._check = check
        self._transport: asyncio.Transport | None = None
        self.end_future = asyncio.get_running_loop().create_future()

    def end(self) -> asyncio.Future[None]:
        """Close the connection after its last bytes are sent. Return the future of its end."""
        if self._transport:
            self._transport.close()
        elif not self.end_future.done():
            self.end_future.set_result(None)
        return self.end_future

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.end_future.done():
            self.end_future.set_result(None)

    def data_received(self, data: bytes) -> None:
        try:
            if self._check(data) and self.peer._transport:
                self.peer._transport.write(data)
        except ConnectionAbortedError:
            self.end()

    def pause_writing(self) -> None:
        if self.peer._transport:
            self.peer._transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer._transport:
            self.peer._transport.resume_reading()
