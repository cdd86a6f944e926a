"""HTTP connections that cannot be used up: bounded in number, and in time for headers and body."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from orchestrator.gateway.options import Limits

GONE = "plates.gone"
"""Key of a request's scope: what is to be called when the caller hangs up before the answer."""
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n"
GO_ELSEWHERE = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
CLOSING = b"content-length: 0\r\nconnection: close\r\n\r\n"
GRACE_S = 5.0
"""After the time for a body, in which whoever reads it says that it was too slow."""
LINGER_S = 0.5
"""Once the process is to end, for a request that is on its way on a connection that is kept."""
UPLOAD_S = 5.0
"""Then, for the rest of a body: its call is not in work yet."""
WORK_S = 15.0
"""Then, for calls in work."""

logger = logging.getLogger(__name__)


class Connections:
    """Those that are open; of too many the one that has done nothing for longest is closed.

    Attributes:
        dropped: How many were closed for others, or because they sent no request in time or none
            that HTTP knows.
        is_leaving: Whether the process is to end, so that who asks from now on must go elsewhere.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[GuardedProtocol] = set()
        self._idle: dict[GuardedProtocol, None] = {}  # in order
        self.dropped = 0
        self.is_leaving = False

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: GuardedProtocol) -> None:
        self._open.add(connection)
        self.rest(connection)
        if len(self._open) > self._most:
            self.dropped += 1
            next(iter(self._idle)).drop()  # the new one itself where all others are at work

    def work(self, connection: GuardedProtocol) -> None:
        """Note that a connection has a request."""
        self._idle.pop(connection, None)

    def rest(self, connection: GuardedProtocol) -> None:
        """Note that a connection waits for one."""
        if connection in self._open:
            self._idle[connection] = None

    def remove(self, connection: GuardedProtocol) -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP on one connection, with limits that it does not have.

    Attributes:
        all: The connections of the server.
        limits: Of the gateway.
    """

    all: Connections
    limits: Limits
    _timer: asyncio.TimerHandle | None = None
    _unread = 0  # bytes since headers or a body were complete
    _in_headers = True
    _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect(self.limits.header_s)
        self.all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        self.all.remove(self)
        gone: Callable[[], None] | None = (self.scope or {}).get(GONE)  # type: ignore[assignment]
        super().connection_lost(exc)
        if gone is not None and not self.cycle.response_complete:
            gone()

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        super().data_received(data)
        if self._in_headers and self._unread > self.limits.header_kb * 1024:
            self._end(TOO_LONG)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers = True
        self._expect(self.limits.header_s)

    def on_headers_complete(self) -> None:
        self._in_headers, self._in_body, self._unread = False, True, 0
        self._expect(self.limits.body_s + GRACE_S)
        self.all.work(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body, self._unread = False, 0
        self._expect(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.all.rest(self)

    def shutdown(self) -> None:
        """Close the connection soon; what is in work is answered first."""
        self.loop.call_later(WORK_S, self._late)
        self.loop.call_later(WORK_S + 1, self.transport.abort)  # whoever does not read
        if self._is_idle():
            self.loop.call_later(LINGER_S, self._close_idle)
        else:
            self.cycle.keep_alive = False
            if self._in_body:
                self._expect(UPLOAD_S)

    def _is_idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _close_idle(self) -> None:
        if self._is_idle():
            self.transport.close()

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.abort()
        self.all.remove(self)

    def _expect(self, within_s: float | None) -> None:
        """Wait for what comes next, or for nothing."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = (within_s and self.loop.call_later(within_s, self._late)) or None

    def _late(self) -> None:
        if self.all.is_leaving and not self.transport.is_closing():
            if not self._is_idle() and not self.cycle.response_started:
                self.transport.write(GO_ELSEWHERE + CLOSING)
            self.transport.close()
        self._end(TOO_LATE)

    def send_400_response(self, msg: str) -> None:
        self.all.dropped += 1
        super().send_400_response(msg)

    def _end(self, status_line: bytes) -> None:
        if not self.transport.is_closing():
            self.all.dropped += 1
            if self._is_idle():
                self.transport.write(status_line + CLOSING)
            self.transport.close()


def guarded(connections: Connections, limits: Limits) -> type[GuardedProtocol]:
    """Return the protocol of one server, as uvicorn takes it."""
    return type("Guarded", (GuardedProtocol,), {"all": connections, "limits": limits})


def hang_up_with(scope: Any, task: asyncio.Task[Any]) -> None:
    """Cancel a request's task when its caller hangs up."""
    scope[GONE] = task.cancel
