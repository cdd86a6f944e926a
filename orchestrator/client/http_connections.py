"""HTTP connections for many threads: kept alive, with timeouts, never shared after a fork."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.client import RemoteDisconnected
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPResponse, Timeout
from urllib3.connection import HTTPConnection
from urllib3.exceptions import NewConnectionError, ProtocolError

from orchestrator.client.inference import HttpResponse, OutgoingRequest, check_size
from orchestrator.client.sockets import TimedSocket, open_socket, start_tls

CONNECTIONS = 256
"""Most idle connections in a pool. If more threads call at once, some need new connections."""
PIECE_BYTES = 256 * 1024
CLOSED_BY_SERVER = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class TimedConnection(HTTPConnection):
    """A connection with a timeout for each call. It reconnects if the server closed it while idle.

    `timeout` is for a whole call: connecting, sending and receiving.
    """

    _resend: Callable[[], None] | None = None

    def __init__(
        self, host: str, port: int, *, tls: ssl.SSLContext | None = None, **options: Any
    ) -> None:
        super().__init__(host, port, **options)
        self._tls = tls

    def connect(self) -> None:
        try:
            sock = open_socket(self.host, self.port, self.timeout or 0)
            self.sock = start_tls(sock, self._tls, self.host) if self._tls else sock
        except OSError as error:
            raise NewConnectionError(self, str(error)) from error

    def request(
        self, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> None:
        """Send a request. A reused connection keeps the request for a retry."""
        send = partial(super().request, method, url, body, headers, **options)
        self._resend = send if isinstance(self.sock, TimedSocket) else None
        if isinstance(self.sock, TimedSocket):
            self.sock.has_received = False
        send()

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as in urllib3
        """Receive the response.

        A server that stops, or closes idle connections, may do so just when a call is sent. A call
        has the same effect twice. So it is retried once, at once, over a new connection.
        The retry needs a reused connection, and no byte of the response may have come. On a
        new connection the same event is a server error for the caller.
        """
        sock, resend = self.sock, self._resend
        self._resend = None  # an idle connection must not keep the body
        try:
            return super().getresponse()
        except CLOSED_BY_SERVER:
            if resend is None or not isinstance(sock, TimedSocket) or sock.has_received:
                raise
            self.timeout = sock.left_s()
        resend()  # it connects, because http.client has closed the connection
        return super().getresponse()


@contextlib.contextmanager
def _knowing_chunks() -> Iterator[None]:
    """Report a chunk of negative size like every other damage; urllib3 passes on its ValueError.

    Raises:
        ProtocolError: The server sent such a chunk.
    """
    try:
        yield
    except ValueError as error:
        raise ProtocolError(str(error)) from error


class OpenStream:
    """A response whose body is read piece by piece, over a connection of its own.

    Args:
        connection: The connection. It has sent the request.
        on_close: Called when it is closed.
    """

    def __init__(self, connection: TimedConnection, on_close: Callable[[OpenStream], None]) -> None:
        self._connection, self._on_close = connection, on_close
        self._sock = connection.sock
        self._response = connection.getresponse()

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers by name, in upper or lower case."""
        return self._response.headers

    def read(self, silent_s: float) -> bytes:
        """Return the next piece; nothing at the end.

        Raises:
            HTTPError: No byte came for `silent_s`, or the connection is lost.
        """
        self._sock.settimeout(silent_s)
        with _knowing_chunks():
            return self._response.read1()

    def abort(self) -> None:
        """End a read in another thread."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._on_close(self)
        self._response.close()
        self._connection.close()


class IdleConnections(queue.LifoQueue[Any]):
    """The idle connections of a pool, without the lock of a queue.

    At a fork another thread may hold such a lock. The child drops its parent's connections, and
    would wait for the lock for ever. A list's `append` and `pop` need no lock.
    """

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if len(self.queue) >= self.maxsize:
            raise queue.Full
        self.queue.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        try:
            return self.queue.pop()
        except IndexError:
            raise queue.Empty from None


class ConnectionPool(HTTPConnectionPool):
    """A pool of connections to one server, for any number of threads."""

    ConnectionCls = TimedConnection
    QueueCls = IdleConnections

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port, maxsize=CONNECTIONS, tls=tls)
        self._tls = tls
        self._streams = set[OpenStream]()

    def send(self, request: OutgoingRequest, timeout_s: float) -> HttpResponse:
        """Send a request and return the response.

        Raises:
            HTTPError: There is no response in time. `translate_errors` knows the errors of urllib3.
            RejectedError: The response is too large.
        """
        response = self.urlopen(
            request.method,
            request.path,
            request.body,
            request.headers,
            retries=False,  # `Retries` decides about retries
            redirect=False,
            timeout=Timeout(total=timeout_s),
            preload_content=False,
            decode_content=False,  # nobody asked for a compressed one, which may grow without end
        )
        try:
            body = bytearray()
            with _knowing_chunks():
                for part in response.stream(PIECE_BYTES, decode_content=False):
                    body += part
                    check_size(body)
        except BaseException:
            response.close()  # with its connection, on which the rest would come
            raise
        return HttpResponse(response.status, response.headers, bytes(body))

    def open_stream(self, request: OutgoingRequest, timeout_s: float) -> OpenStream:
        """Send a request over a connection of its own, and return the response without its body.

        Raises:
            HTTPError: There is no response in time.
        """
        connection = TimedConnection(self.host, self.port or 0, tls=self._tls, timeout=timeout_s)
        try:
            connection.request(
                request.method, request.path, None, request.headers, preload_content=False
            )
            stream = OpenStream(connection, self._streams.discard)
        except BaseException:
            connection.close()
            raise
        self._streams.add(stream)
        return stream

    def close(self) -> None:
        """Close idle connections, and end streams that other threads read."""
        for stream in [*self._streams]:
            stream.abort()
        super().close()
