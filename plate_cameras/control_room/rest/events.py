"""Server-sent events: passes and cameras as they change.

Source: WHATWG HTML, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, replace
from functools import partial

from starlette.responses import Response

from orchestrator.errors import ParameterError
from plate_cameras.clocks import steady_s
from plate_cameras.control_room.access.principals import Role
from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.operations import Operation, RoomRoute, route
from plate_cameras.control_room.rest.change_feed import ChangeFeed, Listener, Notice
from plate_cameras.control_room.rest.exchange import query_of, requester_of
from plate_cameras.control_room.rest.queries import EventsQuery
from plate_cameras.control_room.rest.streams import OpenStreams, StreamedResponse, client_of
from plate_cameras.store.finding.change_log import PAGE
from plate_cameras.store.scope import Scope

LOG = logging.getLogger(__name__)
EVENT_STREAM = "text/event-stream"
LAST_ID = "last-event-id"
HEARTBEAT_S = 15.0
RETRY_MS = 3000
RESET = b"id: %d\nevent: reset\ndata: {}\n\n"
"""The event after which a listener asks for the passes again: it has missed too many changes."""
EVENTS = (
    "Events `pass.agreed`, `pass.updated`, `pass.closed` with a pass, and `camera` with a camera. "
    "They come at least once. `reset` says that more was missed than is still known"
)


def make_route(feed: ChangeFeed) -> RoomRoute:
    """Return the route of the stream of events."""
    operation = Operation(
        "events",
        "Passes and cameras as they change",
        "passes",
        query=EventsQuery,
        media={EVENT_STREAM: EVENTS},
    )
    follow_feed = partial(follow, feed, OpenStreams())
    return operation(route("GET", "/v1/events", Role.VIEWER, is_background=True)(follow_feed))


async def follow(feed: ChangeFeed, streams: OpenStreams, request: RoomRequest) -> Response:
    """Return a stream of events that ends when the caller disconnects or this process ends."""
    query = query_of(request, EventsQuery)
    scope = requester_of(request, query).scope
    after = _last_id(request.request.http.headers.get(LAST_ID), query.after)
    view = View(scope, frozenset(query.camera))
    with ExitStack() as place:
        place.enter_context(streams.open(client_of(request)))
        # The stream begins only if the database can be used.
        settled_number = await feed.find_settled_number()
        return StreamedResponse(
            partial(_chunks, feed, request, view, Place(after, settled_number)),
            place.pop_all(),
            request.is_current,
            media_type=EVENT_STREAM,
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )


@dataclass(frozen=True)
class View:
    """The events that a stream shows.

    Attributes:
        scope: The cameras and lists that the caller may see.
        cameras: Names of the wanted cameras; all if empty.
    """

    scope: Scope
    cameras: frozenset[str]

    def render(self, notices: Iterable[Notice]) -> bytes:
        """Return the events of the wanted cameras in the scope, as the server sends them."""
        return b"".join(self._render(notice) for notice in notices if self._shows(notice.camera))

    def _render(self, notice: Notice) -> bytes:
        """Return one event. A listener that comes again would meet one that fails again."""
        try:
            return notice.to_sse(self.scope)
        except Exception:
            LOG.exception("%s: its event %s is left out", notice.camera, notice.kind)
            return b""

    def _shows(self, camera: str) -> bool:
        return self.scope.sees(camera) and (not self.cameras or camera in self.cameras)


@dataclass(frozen=True)
class Place:
    """The starting point of a stream.

    Attributes:
        after: The number after which the listener has had no event; None to begin now.
        settled_number: A number above which changes come as live events, too.
    """

    after: int | None
    settled_number: int


def _last_id(header: str | None, after: int | None) -> int | None:
    if not header:
        return after
    if not (header.isascii() and header.isdigit()) or len(header) > 16:
        raise ParameterError(f"Last-Event-ID: wanted a number, got {header[:40]!r}")
    return int(header)


async def _chunks(
    feed: ChangeFeed, request: RoomRequest, view: View, place: Place
) -> AsyncGenerator[bytes, None]:
    with feed.listen() as listener:
        async with aclosing(_all(feed, request, view, place, listener=listener)) as chunks:
            async for chunk in chunks:
                yield chunk


async def _all(
    feed: ChangeFeed, request: RoomRequest, view: View, place: Place, *, listener: Listener
) -> AsyncGenerator[bytes, None]:
    """Return the beginning of a stream, the events that its listener has missed, and new ones."""
    after, sent_numbers = place.after, set[int]()
    settled_number = await feed.find_settled_number()
    # The number lets a listener come back that has had no event yet.
    yield b"id: %d\nretry: %d\n\n" % (settled_number if after is None else after, RETRY_MS)
    if after is not None and not await _is_in_time(request, after):
        yield RESET % settled_number
        after = None
    if after is not None:
        async for notice in _read_missed_notices(feed, request, after):
            if notice.number is not None and notice.number > place.settled_number:
                sent_numbers.add(notice.number)
            if chunk := view.render([notice]):
                yield chunk
    async for chunk in _live(listener, view, sent_numbers):
        yield chunk


async def _is_in_time(request: RoomRequest, after: int) -> bool:
    room = request.room
    return await room.threads.run(lambda: room.store.changes.has_all_after(after))


async def _read_missed_notices(
    feed: ChangeFeed, request: RoomRequest, after: int
) -> AsyncGenerator[Notice, None]:
    """Return all events after a number that are in the database, page by page."""
    room, is_full = request.room, True
    while is_full:
        settled_number = await feed.find_settled_number()
        changes = await room.threads.run(partial(room.store.changes.read, after))
        for change in changes:
            number = min(change.number, settled_number)
            yield replace(Notice.of(change), settled_number=number)
            after = change.number
        is_full = len(changes) >= PAGE


async def _live(
    listener: Listener, view: View, sent_numbers: set[int]
) -> AsyncGenerator[bytes, None]:
    """Return new events. The times of heartbeats do not tell when other cameras have events."""
    due_s = steady_s() + HEARTBEAT_S
    while True:
        notices = await listener.next(max(0.0, due_s - steady_s()))
        if listener.has_ended:
            return
        chunk = view.render(notice for notice in notices if notice.number not in sent_numbers)
        if chunk or steady_s() >= due_s:
            due_s = steady_s() + HEARTBEAT_S
            yield chunk or b": heartbeat\n\n"
