"""The transport of an HTTP connection, which sends an answer in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

MAX_HELD_BYTES = 64 * 1024


class AnswerTransport:
    """A transport that is closed by a function of the protocol.

    It holds the parts of an answer until the answer is whole, or until the event loop goes on. Each
    write to a socket wakes the client up, which takes a tenth of the gateway's time for a call.

    Args:
        transport: The transport of the connection.
        close: Closes the connection.
        soon: Runs a function when the event loop goes on.
    """

    def __init__(
        self, transport: asyncio.Transport, close: Callable[[], None], soon: Callable[..., object]
    ) -> None:
        self._transport, self._close, self._soon = transport, close, soon
        self.get_extra_info = transport.get_extra_info
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.is_closing: Callable[[], bool] = transport.is_closing
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if self.is_closing():
            return
        if not self._parts:
            self._soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MAX_HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        if not self.is_closing():
            self.flush()
            self.is_closing = partial(bool, 1)
            self._close()
