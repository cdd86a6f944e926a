"""HTTP on one connection: one request after another, in bounded time and memory."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from orchestrator.serving.gateway.http.answer_transport import AnswerTransport
from orchestrator.serving.gateway.options import UPLOAD_S, WORK_S, Limits
from orchestrator.serving.gateway.policy.clients import client_at
from orchestrator.serving.gateway.policy.connections import Connections

GONE = "plates.gone"
"""Key in a request's scope. Its value is called if the caller disconnects before the answer."""
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n"
GO_ELSEWHERE = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
CLOSING = b"content-length: 0\r\nconnection: close\r\n\r\n"
GRACE_S = 5.0
"""Seconds after the timeout for a body, in which the reader of the body answers with an error."""
LINGER_S = 0.5
"""Seconds at shutdown in which an idle connection may still receive a request."""
MAX_HEADERS = 100
"""Most header fields of a request. Browsers and proxies send up to 40; each one costs time."""
MAX_LINES = MAX_HEADERS + 2  # the request line, and the empty one
HEAD_END = re.compile(rb"(?:\A|\n)\r?\n")
"""Pattern of the empty line after the headers."""
UPGRADE = re.compile(rb"^upgrade[ \t]*:.*\n", re.IGNORECASE | re.MULTILINE)
"""Pattern of the line with which a client offers another protocol, such as HTTP/2 over TCP. The
line is left out: the parser would take the request's body for that protocol.

Source: RFC 9110, section 7.8: a server may ignore the offer.
"""
DISCARD_S, MAX_DISCARDED = 5.0, 64 * 1024 * 1024
"""Seconds and bytes until a client that sends unwanted data is disconnected."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP on one connection, with more limits than uvicorn has.

    uvicorn parses all bytes at once, and keeps each request until it is answered. Here the bytes
    after a request wait unparsed. Reading stops while there are many of them.

    Attributes:
        port_connections: The connections of the port.
        limits: Limits of the gateway.
    """

    port_connections: Connections
    limits: Limits
    _timer: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None
    _header_bytes = _header_lines = 0  # bytes and lines of headers that are not complete
    _body_left = 0  # bytes of the body that have not arrived
    _in_body = False
    _has_request = False  # a whole request waits for its answer
    _discarded_bytes = -1  # bytes discarded after the end of the connection; -1 before

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._buffer = b""
        self._socket = transport
        self._writer = AnswerTransport(transport, self.finish, self.loop.call_soon)
        super().connection_made(self._writer)  # type: ignore[arg-type]
        peer = self.client[0] if self.client else "::"
        proxies = self.port_connections.proxies
        is_shared = proxies is not None and proxies.trusts(peer)
        self.address = "" if is_shared else client_at(peer, self.limits).name
        self._expect(self.limits.header_s)
        self.port_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        if self._writing is not None:
            self._writing.cancel()
        self._buffer = b""
        self.port_connections.remove(self)
        cancel: Callable[[], None] | None = (self.scope or {}).get(GONE)  # type: ignore[assignment]
        super().connection_lost(exc)
        if cancel is not None and not self.cycle.response_complete:
            cancel()

    def data_received(self, data: bytes) -> None:
        if self._discarded_bytes >= 0:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > MAX_DISCARDED:
                self._socket.abort()
            return
        self._buffer = self._buffer + data if self._buffer else data  # mostly without a copy
        self._parse()

    def _parse(self) -> None:
        """Parse the bytes up to the end of one request. The next request waits for its answer."""
        while self._buffer and not self._has_request and not self.transport.is_closing():
            is_body = self._in_body
            end = self._body_left
            if not is_body:
                match = HEAD_END.search(self._buffer)  # of the headers, or of their last whole line
                end = match.end() if match else self._buffer.rfind(b"\n") + 1
            if not end:
                break
            piece, self._buffer = self._buffer[:end], self._buffer[end:]
            if is_body:
                self._body_left -= len(piece)
            else:
                self._header_bytes += end
                self._header_lines += piece.count(b"\n")
                if (
                    self._header_bytes > self.limits.header_kb * 1024
                    or self._header_lines > MAX_LINES
                ):
                    self._end(TOO_LONG)
                    return
                piece = UPGRADE.sub(b"", piece)
            super().data_received(piece)
        if self._buffer or self._header_bytes:
            self._wait_for_rest()

    def _wait_for_rest(self) -> None:
        """Limit the time and the size of a line that is not complete, or of further requests."""
        most = self.limits.header_kb * 1024
        if not self._in_body and not self._has_request:
            if self._header_bytes + len(self._buffer) > most:
                self._end(TOO_LONG)
            elif self._timer is None:
                self._unset_keepalive_if_required()
                self._expect(self.limits.header_s)
        elif len(self._buffer) > most:
            self.flow.pause_reading()

    def on_headers_complete(self) -> None:
        self._in_body, self._header_bytes, self._header_lines = True, 0, 0
        self._expect(self.limits.body_s + GRACE_S)
        self.port_connections.idle.pop(self, None)
        super().on_headers_complete()
        sizes = [value for name, value in self.headers if name == b"content-length"]
        self._body_left = int(sizes[0]) if sizes else 0
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            self.cycle.keep_alive = False  # chunks are refused, and so is all that follows
            self._has_request = True

    def on_message_complete(self) -> None:
        self._in_body, self._has_request = False, not self.cycle.response_complete
        self._expect(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._has_request = False
        self._writer.flush()
        self.port_connections.mark_idle(self)
        if self._socket.get_write_buffer_size():
            self._expect_written()
        if self._buffer:
            self.loop.call_soon(self._parse)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_written()

    def resume_writing(self) -> None:
        """Start the timeout anew: a long answer may take longer, if its reader goes on."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        self._expect_written()

    def _expect_written(self) -> None:
        """Start the timeout for the client to receive the written data."""
        if self._writing is None and self._socket.get_write_buffer_size():
            self._writing = self.loop.call_later(self.limits.write_s, self._stop_writing)

    def _stop_writing(self) -> None:
        self._writing = None
        if self._socket.get_write_buffer_size():
            self.port_connections.drop_count += 1
            self._socket.abort()

    def shutdown(self) -> None:
        """Close the connection soon. A call in work is answered first."""
        self.loop.call_later(WORK_S, self._late)
        self.loop.call_later(WORK_S + 1, self._socket.abort)  # a client that does not read
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
        self._socket.abort()
        self.port_connections.remove(self)

    def finish(self) -> None:
        """Close the connection after the written data is sent.

        If a connection is closed with unread bytes, the kernel resets it. The client then loses
        its answer. So if a client still sends, only the gateway's side is closed at first. The
        client's bytes are discarded for a while.
        """
        is_sending = self._in_body or self._header_bytes or self._buffer
        self._buffer = b""
        self._expect_written()
        if not is_sending:
            self._socket.close()
            return
        self._discarded_bytes = 0
        self._expect(None)
        self.flow.resume_reading()
        if self._socket.can_write_eof():
            self._socket.write_eof()
        within_s = LINGER_S if self.port_connections.is_leaving else DISCARD_S
        self.loop.call_later(within_s, self._socket.abort)
        self.port_connections.mark_idle(self)

    def _expect(self, within_s: float | None) -> None:
        """Start the timeout for the next event, or stop it if None."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = (within_s and self.loop.call_later(within_s, self._late)) or None

    def _late(self) -> None:
        if self.port_connections.is_leaving and not self.transport.is_closing():
            if not self._is_idle() and not self.cycle.response_started:
                self.transport.write(GO_ELSEWHERE + CLOSING)
            self.transport.close()
        self._end(TOO_LATE)

    def send_400_response(self, msg: str) -> None:
        """Reject what is no HTTP; uvicorn calls this for every error while it parses."""
        self.port_connections.drop_count += 1
        error = sys.exc_info()[1]
        if not (error and isinstance(error.__context__, MemoryError)):
            super().send_400_response(msg)
            return
        if self._is_idle() or not self.cycle.response_started:  # the client is not at fault
            self.transport.write(GO_ELSEWHERE + CLOSING)
        self.transport.close()

    def _end(self, status_line: bytes) -> None:
        if not self.transport.is_closing():
            self.port_connections.drop_count += 1
            if self._is_idle():
                self.transport.write(status_line + CLOSING)
            self.transport.close()


def make_protocol(connections: Connections, limits: Limits) -> type[GuardedProtocol]:
    """Return the protocol class of one server, for uvicorn."""
    return type("Guarded", (GuardedProtocol,), {"port_connections": connections, "limits": limits})
