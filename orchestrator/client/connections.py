"""HTTP connections for many threads: kept alive, bounded in time, never shared with a fork."""

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
"""Most idle connections that a pool keeps; of more threads at once some connect anew."""
UNHEARD = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class TimedSocket(socket.socket):
    """A socket whose timeout is for all that follows together, not for each operation anew.

    Else a server that sends a byte a second would keep its caller for ever.

    Attributes:
        has_received: Whether a byte came since the flag was last taken back.
    """

    has_received = False
    _ends = float("inf")

    def settimeout(self, value: float | None, /) -> None:
        self._ends = time.monotonic() + (float("inf") if value is None else value)
        super().settimeout(value)

    def left_s(self) -> float:
        """Return what is left of the timeout.

        Raises:
            TimeoutError: Nothing is.
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
    """The same with TLS; its `sendall` is several calls of `send`."""

    def send(self, data: Any, flags: int = 0, /) -> int:
        try:
            return super().send(data, flags)
        except ssl.SSLEOFError as error:  # an answer may have come before the server hung up
            raise BrokenPipeError(error.errno, "connection closed by the server") from error


class Connection(HTTPConnection):
    """A connection that ends each call in time and survives that the server closed it meanwhile.

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
        """Send; a connection that was used before keeps what it may have to send again."""
        send = partial(super().request, method, url, body, headers, **options)
        self._resend = send if isinstance(self.sock, TimedSocket) else None
        if isinstance(self.sock, TimedSocket):
            self.sock.has_received = False
        send()

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as in urllib3
        """Receive the answer.

        A server closes a connection that is idle for long, or stops, and may do so just when the
        next call is sent. Calls change nothing on the server, so this one is sent once more, at
        once, over a new connection: only where the connection was used before and no byte of the
        answer came. On a new connection the same is the server's fault, which the caller is told.
        """
        sock, resend = self.sock, self._resend
        self._resend = None  # else a connection that waits for the next call would keep the body
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

    A fork may catch that lock held by another thread; the child, which drops its parent's
    connections, would then wait for it for ever. A list's `append` and `pop` need none.
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
    """Connections to one server, for as many threads as there are."""

    ConnectionCls = Connection
    QueueCls = IdleConnections

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        super().__init__(host, port, maxsize=CONNECTIONS, tls=tls)


def open_socket(host: str, port: int, timeout_s: float) -> TimedSocket:
    """Connect to the first address of a host that answers.

    Returns:
        A socket with what is left of the timeout.

    Raises:
        OSError: There is no such host, or none of its addresses answers in time.
    """
    ends = time.monotonic() + timeout_s
    addresses = _addresses_of(host.strip("[]"), port, timeout_s)
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        # A silent address may only take its share of the time, so that the next ones get theirs.
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
    """Return a socket that speaks TLS over one that is connected, which it takes over.

    The handshake has what is left of the timeout, and leaves what is left of it.

    Args:
        opened: Is closed where there is an error.
        tls: Makes `TimedTlsSocket`s.
        host: For whom the certificate must be.

    Raises:
        OSError: There is no TLS, its certificate is not to be trusted, or time is up.
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
    """Ask for a host's addresses, in a thread: the system's resolver knows no timeout."""
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
