"""HTTP connections for many threads: kept alive, with timeouts, never shared after a fork."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from functools import partial
from http.client import RemoteDisconnected
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPResponse
from urllib3.connection import HTTPConnection
from urllib3.exceptions import NewConnectionError

CONNECTIONS = 256
"""Most idle connections in a pool. If more threads call at once, some need new connections."""
UNHEARD = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class TimedSocket(socket.socket):
    """A socket with one timeout for all following operations together, not for each of them.

    Otherwise a server that sends a byte a second would block its caller for ever.

    Attributes:
        has_received: A byte came since the flag was last reset.
    """

    has_received = False
    _ends = float("inf")

    def settimeout(self, value: float | None, /) -> None:
        self._ends = time.monotonic() + (float("inf") if value is None else value)
        super().settimeout(value)

    def left_s(self) -> float:
        """Return the rest of the timeout.

        Raises:
            TimeoutError: The timeout has passed.
        """
        return _left_s(self._ends)

    def recv_into(self, buffer: Any, nbytes: int | None = 0, flags: int = 0) -> int:
        super().settimeout(self.left_s())
        received = super().recv_into(buffer, nbytes or 0, flags)
        self.has_received |= received > 0
        return received

    def send(self, data: Any, flags: int = 0, /) -> int:
        super().settimeout(self.left_s())
        return super().send(data, flags)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        super().settimeout(self.left_s())
        super().sendall(data, flags)


class TimedTlsSocket(TimedSocket, ssl.SSLSocket):
    """A `TimedSocket` with TLS. Its `sendall` calls `send` several times."""

    def send(self, data: Any, flags: int = 0, /) -> int:
        try:
            return super().send(data, flags)
        except ssl.SSLEOFError as error:  # an answer may precede the disconnect
            raise BrokenPipeError(error.errno, "connection closed by the server") from error


class Connection(HTTPConnection):
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
            opened = open_socket(self.host, self.port, self.timeout or 0)
            self.sock = start_tls(opened, self._tls, self.host) if self._tls else opened
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
        """Receive the answer.

        A server that stops, or closes idle connections, may do so just when a call is sent. Calls
        change nothing on the server. So the call is retried once, at once, over a new connection.
        The retry needs a reused connection, and no byte of the answer may have come. On a new
        connection the same event is a server error for the caller.
        """
        sock, resend = self.sock, self._resend
        self._resend = None  # an idle connection must not keep the body
        try:
            return super().getresponse()
        except UNHEARD:
            if resend is None or not isinstance(sock, TimedSocket) or sock.has_received:
                raise
            self.timeout = sock.left_s()
        self.close()
        resend()
        return super().getresponse()


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

    ConnectionCls = Connection
    QueueCls = IdleConnections

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port, maxsize=CONNECTIONS, tls=tls)


def open_socket(host: str, port: int, timeout_s: float) -> TimedSocket:
    """Connect to the first address of a host that answers.

    Returns:
        A socket with the rest of the timeout.

    Raises:
        OSError: There is no such host, or none of its addresses answers in time.
    """
    ends = time.monotonic() + timeout_s
    addresses = _addresses_of(host.strip("[]"), port, timeout_s)
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        # A silent address may only use its share of the time, so that the next ones have time.
        share_s = _left_s(ends) / (len(addresses) - index)
        opened = TimedSocket(family, kind, protocol)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.settimeout(share_s)
            opened.connect(address)
            opened.settimeout(_left_s(ends))
        except OSError:
            opened.close()
            if index + 1 == len(addresses):
                raise
        else:
            return opened
    raise OSError(f"no address of {host}")


def start_tls(opened: TimedSocket, tls: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """Start TLS on a connected socket, and return the TLS socket that replaces it.

    The handshake uses the rest of the timeout. The returned socket has the time that then remains.

    Args:
        opened: Connected socket. It is closed if there is an error.
        tls: Context that makes `TimedTlsSocket`s.
        host: Host name that the certificate must have.

    Raises:
        OSError: The server has no TLS, its certificate is not trusted, or the timeout has passed.
    """
    ends = time.monotonic() + opened.left_s()
    try:
        secured = tls.wrap_socket(opened, server_hostname=host.strip("[]"))
    except BaseException:
        opened.close()
        raise
    secured.settimeout(_left_s(ends))
    return secured


def _addresses_of(host: str, port: int, timeout_s: float) -> list[Any]:
    """Look up a host's addresses in a thread, because the system's resolver has no timeout."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise TimeoutError(f"no address of {host} in time") from None
    if isinstance(answer, Exception):
        raise OSError(f"no address of {host} ({answer})") from answer
    return list(answer)


def _left_s(ends: float) -> float:
    left_s = ends - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("timed out")
    return left_s
