"""The feed of live events. It connects a lost stream again."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from orchestrator.client.channels import Stream
from orchestrator.client.inference import HttpResponse
from orchestrator.errors import Overloaded, PlateError, ServerError
from orchestrator.host.blocking import settle
from orchestrator.host.retry import exponential_s
from plate_cameras.client.live_events import Block, BlockReader, EventSelection, LiveEvent
from plate_cameras.client.pages import to_rejection
from plate_cameras.clocks import steady_s

SILENT_S = 45.0
"""Seconds without a byte after which a stream counts as lost. The server sends some every 15 s."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 30.0
"""The first and the longest pause before a lost stream is connected again. The pauses begin anew
after a stream that has lasted longer than the longest one."""
MAX_ERROR_BYTES = 64 * 1024
"""Largest number of bytes of an answer that is not a stream, as its message is short."""
LOST = (ServerError, Overloaded)


@dataclass(frozen=True)
class Connector:
    """Opens a stream for a client, and opens it again when the connection is lost.

    Attributes:
        open: Opens the stream of a selection, with the client's own retries.
        translating: Translates errors while the stream is read.
        sleep: Waits for a number of seconds.
        on_loss: Called with the error before each pause. It may raise an error of its own.
    """

    open: Callable[[EventSelection], Awaitable[Stream]]
    translating: Callable[[], AbstractContextManager[None]]
    sleep: Callable[[float], Any]
    on_loss: Callable[[PlateError], None]


class EventFeed:
    """Reads events one by one. A lost stream is connected again where it was.

    Args:
        connector: Opens streams.
        selection: The wanted events.
    """

    def __init__(self, connector: Connector, selection: EventSelection) -> None:
        self._connector, self._selection = connector, selection
        self._stream: Stream | None = None
        self._reader = BlockReader()
        self._blocks = deque[Block]()
        self._has_begun = False
        self._began_s = 0.0
        self._losses = 0

    async def next(self) -> LiveEvent:
        """Return the next event, however long it takes.

        Raises:
            PlateError: The first connection fails, or the service rejects a later one.
        """
        while True:
            while self._blocks:
                block = self._blocks.popleft()
                self._selection = self._selection.beginning_after(block.number)
                with self._connector.translating():
                    if event := block.to_event():
                        return event
            try:
                await self._receive()
            except LOST as error:
                if not self._has_begun:
                    raise
                await self._pause(error)

    async def close(self) -> None:
        """Close the connection."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await settle(stream.close())

    async def _receive(self) -> None:
        """Receive one piece; first connect if there is no stream."""
        if self._stream is None:
            self._stream = await self._connector.open(self._selection)
            self._reader = BlockReader(self._selection.after)
            self._has_begun, self._began_s = True, steady_s()
        with self._connector.translating():
            piece = await settle(self._stream.read(SILENT_S))
            if not piece:
                raise ConnectionError("the end of the stream")
        self._blocks.extend(self._reader.read(piece))

    async def _pause(self, error: PlateError) -> None:
        if self._stream is not None and steady_s() - self._began_s > MAX_PAUSE_S:
            self._losses = 0
        await self.close()
        self._connector.on_loss(error)
        pause_s = exponential_s(self._losses, FIRST_PAUSE_S, MAX_PAUSE_S) * random.uniform(0.5, 1)
        self._losses += 1
        asked_s = error.response.retry_after_s or 0.0
        await settle(self._connector.sleep(max(pause_s, asked_s * random.uniform(1, 1.5))))


async def check_stream(stream: Stream, timeout_s: float) -> Stream:
    """Return a stream of events; close any other answer.

    Raises:
        RejectedError: The answer is no stream of events. The message is that of the server.
    """
    kind = stream.headers.get("Content-Type", "").partition(";")[0]
    if stream.status == 200 and kind == "text/event-stream":
        return stream
    body = b""
    try:
        while len(body) < MAX_ERROR_BYTES and (piece := await settle(stream.read(timeout_s))):
            body += piece
    finally:
        await settle(stream.close())
    raise to_rejection(HttpResponse(stream.status, stream.headers, body))
