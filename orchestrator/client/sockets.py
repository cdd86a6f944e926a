"""Sockets with one timeout for a whole call: looking up, connecting, TLS, sending, receiving.

TLS trusts the certificate authorities of the system, or those of one file.
"""

from __future__ import annotations

import math
import os
import queue
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any

import grpc

from orchestrator.errors import SettingsError

VARIABLE = "SSL_CERT_FILE"
"""Environment variable for a PEM file of authorities that are trusted instead of the system's."""


class TimedSocket(socket.socket):
    """A socket with one timeout for all following operations together, not for each of them.

    Otherwise a server that sends a byte a second would block its caller for ever.

    Attributes:
        has_received: A byte came since the flag was last reset.
    """

    has_received = False
    _deadline = math.inf

    def settimeout(self, value: float | None, /) -> None:
        self._deadline = time.monotonic() + (math.inf if value is None else value)
        super().settimeout(value)

    def left_s(self) -> float:
        """Return the rest of the timeout.

        Raises:
            TimeoutError: The timeout has passed.
        """
        return _left_s(self._deadline)

    def _limit_next(self) -> None:
        """Give the next operation the rest of the timeout."""
        left_s = self.left_s()
        super().settimeout(None if math.isinf(left_s) else left_s)

    def recv_into(self, buffer: Any, nbytes: int | None = 0, flags: int = 0) -> int:
        self._limit_next()
        count = super().recv_into(buffer, nbytes or 0, flags)
        self.has_received |= count > 0
        return count

    def send(self, data: Any, flags: int = 0, **options: Any) -> int:
        """Send some bytes. In a process that gevent has patched, `sendall` adds an option here."""
        self._limit_next()
        return super().send(data, flags, **options)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self._limit_next()
        super().sendall(data, flags)


class TimedTlsSocket(TimedSocket, ssl.SSLSocket):
    """A `TimedSocket` with TLS. Its `sendall` calls `send` several times."""

    def send(self, data: Any, flags: int = 0, **options: Any) -> int:
        try:
            return super().send(data, flags, **options)
        except ssl.SSLEOFError as error:  # an answer may precede the disconnect
            raise BrokenPipeError(error.errno, "connection closed by the server") from error


def open_socket(host: str, port: int, timeout_s: float) -> TimedSocket:
    """Connect to the first address of a host that answers.

    Returns:
        A socket with the rest of the timeout.

    Raises:
        OSError: There is no such host, or none of its addresses answers in time.
    """
    deadline = time.monotonic() + timeout_s
    addresses = _addresses_of(host.strip("[]"), port, timeout_s)
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        # A silent address may only use its share of the time, so that the next ones have time.
        share_s = _left_s(deadline) / (len(addresses) - index)
        sock = TimedSocket(family, kind, protocol)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(share_s)
            sock.connect(address)
            sock.settimeout(_left_s(deadline))
        except OSError:
            sock.close()
            if index + 1 == len(addresses):
                raise
        else:
            return sock
    raise OSError(f"no address of {host}")


def start_tls(sock: TimedSocket, tls: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """Start TLS on a connected socket, and return the TLS socket that replaces it.

    The handshake uses the rest of the timeout. The returned socket has the time that then remains.

    Args:
        sock: Connected socket. It is closed if there is an error.
        tls: Context that makes `TimedTlsSocket`s.
        host: Host name that the certificate must have.

    Raises:
        OSError: The server has no TLS, its certificate is not trusted, or the timeout has passed.
    """
    deadline = time.monotonic() + sock.left_s()
    tls_socket = tls.wrap_socket(sock, server_hostname=host.strip("[]"))
    tls_socket.settimeout(_left_s(deadline))
    return tls_socket


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


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("timed out")
    return left_s


def make_context() -> ssl.SSLContext:
    """Return a TLS context that checks certificates and their host names.

    Raises:
        SettingsError: The file that `SSL_CERT_FILE` names cannot be read or holds no certificate.
    """
    file = os.environ.get(VARIABLE) or None
    try:
        context = ssl.create_default_context(cafile=file)
    except OSError as error:  # includes errors of ssl
        raise SettingsError(
            f"{VARIABLE}: wanted a file of certificates (PEM), got {file}: "
            f"{error.strerror or error}"
        ) from error
    context.sslsocket_class = TimedTlsSocket
    return context


def make_credentials() -> grpc.ChannelCredentials:
    """Return TLS credentials for gRPC, with the same checks.

    gRPC does not find the system's authorities by itself. If Python knows only a folder of them,
    and no file, gRPC's own authorities are used.

    Raises:
        SettingsError: The same errors as from `make_context`.
    """
    make_context()  # reports faults of the file; gRPC would only fail to connect
    file = os.environ.get(VARIABLE) or ssl.get_default_verify_paths().cafile
    return grpc.ssl_channel_credentials(Path(file).read_bytes() if file else None)
