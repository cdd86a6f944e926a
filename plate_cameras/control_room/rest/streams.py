"""Streamed answers, with limits on their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orchestrator.serving.gateway.extension import RETRY_AFTER_S, QuotaExceeded, ServiceFull
from plate_cameras.control_room.endpoint import CHECK_S, RoomRequest
from plate_cameras.control_room.rest.exchange import attachment

MAX_STREAMS, MAX_PER_PERSON = 200, 16
"""Open streams of one process, and of one client in it."""
SEND_S = 60.0
"""Longest time that a caller may take to read a piece. After that its stream ends, to free its
slot."""
IsCurrent = Callable[[], Awaitable[bool]]
Chunks = Callable[[], AsyncGenerator[bytes, None]]


class OpenStreams:
    """Counts the streams that are sent now. They hold no slots of the gateway.

    Args:
        max_streams: Largest number of streams.
        max_of_client: Largest number of streams of one client.
    """

    def __init__(self, max_streams: int = MAX_STREAMS, max_of_client: int = MAX_PER_PERSON) -> None:
        self._max_streams, self._max_of_client = max_streams, max_of_client
        self._of_clients: Counter[str] = Counter()

    @contextmanager
    def open(self, client: str) -> Iterator[None]:
        """Count a stream of a client while the block runs.

        The block begins before the first wait for the answer, so that requests that come at the
        same time are counted, too.

        Raises:
            QuotaExceeded: The client has too many.
            ServiceFull: All clients together have too many.
        """
        self._check(client)
        self._of_clients[client] += 1
        try:
            yield
        finally:
            self._of_clients[client] -= 1
            if not self._of_clients[client]:
                del self._of_clients[client]

    def _check(self, client: str) -> None:
        if self._of_clients[client] >= self._max_of_client:
            limit = f"wanted at most {self._max_of_client}"
            raise QuotaExceeded(f"streams at once: {limit}, got one more", RETRY_AFTER_S)
        if self._of_clients.total() >= self._max_streams:
            raise ServiceFull("all streams are taken; try again later", RETRY_AFTER_S)


class StreamedResponse(Response):
    """A response whose pieces are made while it is sent. It ends when the caller disconnects.

    It breaks off when the caller's rights change, so that a part of a file does not look whole.

    Args:
        place: Resources of the stream until it ends, such as its place among the open streams.
        is_current: Tells whether the caller still has the rights with which the stream began.
        send_s: Longest time that the caller may take for a piece.
    """

    def __init__(
        self,
        chunks: Chunks,
        place: ExitStack,
        is_current: IsCurrent,
        *,
        media_type: str,
        headers: Mapping[str, str],
        send_s: float = SEND_S,
    ) -> None:
        super().__init__(media_type=media_type, headers=headers)
        self._send_s = send_s
        del self.headers["content-length"]  # not known yet
        self._chunks, self._place, self._is_current = chunks, place, is_current

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            if scope["method"] != "HEAD" and not await self._send_chunks(receive, send):
                return
            with anyio.move_on_after(self._send_s):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_chunks(self, receive: Receive, send: Send) -> bool:
        """Send all pieces. Return False if the stream has broken off."""
        if not await self._is_current():  # the first piece may have taken long
            return False
        is_whole = False
        async with anyio.create_task_group() as group, aclosing(self._chunks()) as chunks:
            group.start_soon(_cancel_on_disconnect, receive, group.cancel_scope)
            group.start_soon(self._cancel_on_change, group.cancel_scope)
            async for chunk in chunks:
                with anyio.move_on_after(self._send_s) as sending:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if sending.cancelled_caught:
                    break
            else:
                is_whole = True
            group.cancel_scope.cancel()
        return is_whole

    async def _cancel_on_change(self, scope: anyio.CancelScope) -> None:
        is_current = True
        while is_current:
            await anyio.sleep(CHECK_S)
            is_current = await self._is_current()
        scope.cancel()


async def _cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


EXPORTS = OpenStreams(max_streams=4, max_of_client=2)
"""Exports read the database as fast as they can, so few may run at once."""


def stream_file(
    request: RoomRequest, chunks: Chunks, place: ExitStack, *, name: str, media_type: str
) -> Response:
    """Return a file that browsers save. It is made while it is sent."""
    return StreamedResponse(
        chunks, place, request.is_current, media_type=media_type, headers=attachment(name)
    )


def client_of(request: RoomRequest) -> str:
    """Return the name by which a caller's streams are counted: an address may have many people."""
    return f"{request.request.call.client.name} {request.principal.name}"
