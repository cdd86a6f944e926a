"""Server-sent events: passes and cameras as they change.

Source: WHATWG HTML, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from functools import partial

from starlette.responses import Response

from orchestrator.cameras.store.change_log import PAGE
from orchestrator.control_room.endpoint import RoomRequest
from orchestrator.control_room.rest.change_feed import ChangeFeed, Listener, Notice
from orchestrator.control_room.rest.exchange import query_of, requester_of
from orchestrator.control_room.rest.queries import EventsQuery
from orchestrator.control_room.rest.streams import OpenStreams, StreamedResponse, client_of
from orchestrator.errors import ParameterError

EVENT_STREAM = "text/event-stream"
LAST_ID = "last-event-id"
HEARTBEAT_S = 15.0
CHECK_S = 15.0
"""How often a stream checks that its caller may still read: sessions end."""
RETRY_MS = 3000
MOST_MISSED = 5000
"""Most earlier events that a listener gets when it comes back."""

Sees = Callable[[str], bool]


async def follow(feed: ChangeFeed, streams: OpenStreams, request: RoomRequest) -> Response:
    """Return a stream of events that ends when the caller disconnects or this process ends."""
    asked = query_of(request, EventsQuery)
    requester, client = requester_of(request, asked), client_of(request)
    after = _last_id(request.request.http.headers.get(LAST_ID), asked.after)
    wanted = frozenset(asked.camera)

    def sees(camera: str) -> bool:
        return requester.sees(camera) and (not wanted or camera in wanted)

    with ExitStack() as place:
        place.enter_context(streams.open(client))
        await feed.settled()  # tells an absent database before the stream begins
        return StreamedResponse(
            partial(_chunks, feed, request, sees, after),
            place.pop_all(),
            media_type=EVENT_STREAM,
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )


def _last_id(header: str | None, after: int | None) -> int | None:
    if not header:
        return after
    if not (header.isascii() and header.isdigit()) or len(header) > 16:
        raise ParameterError(f"Last-Event-ID: wanted a number, got {header[:40]!r}")
    return int(header)


async def _chunks(
    feed: ChangeFeed, request: RoomRequest, sees: Sees, after: int | None
) -> AsyncGenerator[bytes, None]:
    with feed.listen() as listener:
        # The number lets a listener come back that has had no event yet.
        begins = await feed.settled() if after is None else after
        yield f"id: {begins}\nretry: {RETRY_MS}\n\n".encode()
        sent, checked_s = set[int](), time.monotonic()
        if after is not None:
            async for notice in _missed(feed, request, after):
                sent.add(notice.number or 0)
                if sees(notice.camera):
                    yield notice.sse
        async for chunk in _live(listener, sees, sent):
            yield chunk
            if time.monotonic() - checked_s >= CHECK_S:
                checked_s = time.monotonic()
                if not await request.room.access.is_current(request.request):
                    return


async def _missed(
    feed: ChangeFeed, request: RoomRequest, after: int
) -> AsyncGenerator[Notice, None]:
    """Return the events after a number that are in the database now."""
    room, count = request.room, 0
    settled = await feed.settled()
    while count < MOST_MISSED:
        start = after
        changes = await room.threads.run(lambda: room.store.changes.read(start))  # noqa: B023
        for change in changes:
            notice = Notice.of(change)
            number = min(change.number, settled)
            yield Notice(notice.kind, notice.camera, notice.body, change.number, number)
        count += len(changes)
        if len(changes) < PAGE:
            return
        after = changes[-1].number


async def _live(listener: Listener, sees: Sees, sent: set[int]) -> AsyncGenerator[bytes, None]:
    while True:
        notices = await listener.next(HEARTBEAT_S)
        if listener.has_ended:
            return
        shown = (one.sse for one in notices if sees(one.camera) and one.number not in sent)
        yield b"".join(shown) or b": heartbeat\n\n"
