"""Streams of events in one process: events that a listener missed, and lost ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from plate_cameras.control_room.endpoint import RoomRequest
from plate_cameras.control_room.rest.change_feed import ChangeFeed
from plate_cameras.control_room.rest.events import follow
from plate_cameras.control_room.rest.streams import OpenStreams, StreamedResponse
from plate_cameras.store.erasing.retention import CHANGES_S
from plate_cameras.store.finding.change_log import PAGE
from tests.plate_cameras.control_room.rest.rooms import ADMINISTRATOR, Room
from tests.plate_cameras.store.stored_events import NOW_S, make_event

HTTP: dict[str, Any] = {"type": "http", "method": "GET", "path": "/v1/events"}


class Caller:
    """Reads a stream until a text has come a number of times, and disconnects.

    Attributes:
        content: The bytes received so far.
    """

    def __init__(self, wanted: bytes, count: int) -> None:
        self.content = bytearray()
        self._wanted, self._left, self._enough = wanted, count, asyncio.Event()

    async def receive(self) -> Message:
        await self._enough.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        body = message.get("body", b"")
        self.content += body
        self._left -= body.count(self._wanted)
        if self._left <= 0:
            self._enough.set()


def listen(room: Room, query: str, wanted: bytes, count: int = 1) -> list[dict[str, str]]:
    """Return the events of a stream, once a text has come a number of times."""

    async def act() -> bytes:
        feed = ChangeFeed(room.room)
        polling = asyncio.create_task(feed.run())
        http = Request({**HTTP, "headers": [], "query_string": query.encode()})
        call = SimpleNamespace(client=SimpleNamespace(name="a client"))
        request: Any = SimpleNamespace(http=http, call=call)
        answer = await follow(feed, OpenStreams(), RoomRequest(request, ADMINISTRATOR, room.room))
        caller = Caller(wanted, count)
        await asyncio.wait_for(answer(HTTP, caller.receive, caller.send), 60)
        polling.cancel()
        await asyncio.wait([polling])
        return bytes(caller.content)

    blocks = asyncio.run(act()).decode().split("\n\n")
    return [dict(re.findall(r"^(\w+): (.*)$", block, re.MULTILINE)) for block in blocks if block]


def write(room: Room, count: int) -> None:
    """Write events of one pass: each is a change."""
    room.store.write([make_event("a", kind="updated")] * count, [])


def test_everything_that_was_missed_comes_in_its_order(room: Room) -> None:
    count = 10 * PAGE + 100
    write(room, count)
    found = listen(room, "after=0", b"pass.updated", count)
    assert [one["id"] for one in found[1:]] == [str(number + 1) for number in range(count)]


def test_a_listener_that_comes_too_late_is_told_and_begins_now(room: Room) -> None:
    write(room, 3)
    room.store.delete_expired(NOW_S + CHANGES_S + 1)
    write(room, 4)
    found = listen(room, "after=1", b"reset")
    assert found == [
        {"id": "1", "retry": "3000"},
        {"id": "7", "event": "reset", "data": "{}"},
    ]


@pytest.mark.parametrize(("after", "missed"), [(3, 1), (4, 0)])
def test_a_listener_that_is_in_time_is_not_told_to_begin_anew(
    room: Room, after: int, missed: int
) -> None:
    write(room, 3)
    room.store.delete_expired(NOW_S + CHANGES_S + 1)
    room.store.write([make_event("a", kind="closed")], [])
    found = listen(room, f"after={after}", b"\n\n", missed + 1)
    assert [one.get("event") for one in found[1:]] == ["pass.closed"] * missed


def test_a_place_in_another_database_is_not_believed(room: Room) -> None:
    write(room, 2)
    found = listen(room, "after=100", b"reset")
    assert (found[1]["id"], found[1]["event"]) == ("2", "reset")


def test_a_caller_that_reads_nothing_loses_its_place() -> None:
    async def stall(_message: Message) -> None:
        await asyncio.Event().wait()

    streams = OpenStreams(most=1)
    assert run_stream(streams, stall) == ["more"]
    with streams.open("another"):
        pass


def run_stream(streams: OpenStreams, stall: Callable[[Message], Awaitable[None]]) -> list[str]:
    """Send a stream to a caller that reads only the headers; return the created streams."""
    made: list[str] = []

    async def chunks() -> Any:
        made.append("more")
        yield b"more"
        made.append("never")

    async def act() -> None:
        place = ExitStack()
        place.enter_context(streams.open("a client"))
        sends = iter([never_stall])

        async def send(message: Message) -> None:
            await next(sends, stall)(message)

        answer = StreamedResponse(
            chunks, place, always, media_type="text/plain", headers={}, send_s=0.01
        )
        await asyncio.wait_for(answer(HTTP, wait_for_ever, send), 20)

    asyncio.run(act())
    return made


async def always() -> bool:
    return True


async def never_stall(_message: Message) -> None: ...


async def wait_for_ever() -> Message:
    await asyncio.Event().wait()
    return {}
