"""Streams of events in one process, and answers whose caller loses all rights meanwhile."""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.types import Message

from plate_cameras.control_room import endpoint
from plate_cameras.control_room.rest.change_feed import MAX_WAITING
from plate_cameras.control_room.rest.streams import OpenStreams, StreamedResponse
from plate_cameras.store.erasing.retention import CHANGES_S
from plate_cameras.store.finding.change_log import PAGE
from tests.plate_cameras.control_room.rest.rooms import RestRoom
from tests.plate_cameras.control_room.streams import StreamedAnswer
from tests.plate_cameras.store.stored_events import NOW_S, make_event
from tests.waiting import until

CSV = {"content-type": "text/csv"}
HTTP: dict[str, Any] = {"type": "http", "method": "GET", "path": "/v1/events"}


def listen(room: RestRoom, query: str, text: bytes, count: int = 1) -> list[dict[str, str]]:
    """Return the events of a stream, once a text has come a number of times."""
    stream = StreamedAnswer(room.client, f"/v1/events?{query}")
    until(lambda: stream.content.count(text) >= count, "events")
    stream.leave()
    blocks = stream.content.decode().split("\n\n")
    return [dict(re.findall(r"^(\w+): (.*)$", block, re.MULTILINE)) for block in blocks if block]


def write(room: RestRoom, count: int) -> None:
    """Write events of one pass: each is a change."""
    room.store.write([make_event("a", kind="updated")] * count, [])


def test_everything_that_was_missed_comes_in_its_order(room: RestRoom) -> None:
    count = MAX_WAITING + PAGE + 100
    write(room, count)
    events = listen(room, "after=0", b"pass.updated", count)
    assert [event["id"] for event in events[1:]] == [str(number + 1) for number in range(count)]


@pytest.mark.parametrize(
    ("after", "kinds"),
    [
        pytest.param(1, ["reset"], id="too late"),
        pytest.param(3, ["pass.closed"], id="in time"),
        pytest.param(4, [], id="nothing missed"),
        pytest.param(100, ["reset"], id="a place in another database"),
    ],
)
def test_a_listener_that_comes_too_late_is_told_and_begins_now(
    room: RestRoom, after: int, kinds: list[str]
) -> None:
    write(room, 3)
    room.store.delete_expired(NOW_S + CHANGES_S + 1)
    room.store.write([make_event("a", kind="closed")], [])
    begin, *events = listen(room, f"after={after}", b"\n\n", len(kinds) + 1)
    assert begin["retry"] == "3000"
    assert [(event["event"], event["id"]) for event in events] == [(kind, "4") for kind in kinds]


async def test_a_caller_that_reads_nothing_loses_its_place() -> None:
    streams, steps, place = OpenStreams(max_streams=1), list[str](), ExitStack()

    async def chunks() -> Any:
        steps.append("more")
        yield b"more"
        steps.append("never")

    async def stall(message: Message) -> None:
        if message["type"] != "http.response.start":
            await asyncio.Event().wait()

    async def has_rights() -> bool:
        return True

    async def wait_for_ever() -> Message:
        await asyncio.Event().wait()
        return {}

    place.enter_context(streams.open("a client"))
    options: dict[str, Any] = {"media_type": "text/plain", "headers": {}, "send_s": 0.01}
    answer = StreamedResponse(chunks, place, has_rights, **options)
    await asyncio.wait_for(answer(HTTP, wait_for_ever, stall), 20)
    assert steps == ["more"]
    with streams.open("another"):
        pass


def test_a_slow_answer_is_not_given(filled_room: RestRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    filled_room.withdraw_rights()
    assert filled_room.client.get("/v1/passes").status_code == 200  # it was quick
    monkeypatch.setattr(endpoint, "CHECK_S", 0.0)
    assert filled_room.client.get("/v1/passes").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/lists/residents", {"json": {"note": "after"}}),
        ("PUT", "/v1/lists/residents/entries/C001CC77", {"json": {}}),
        ("POST", "/v1/lists/residents/entries", {"content": "text\nC001CC77\n", "headers": CSV}),
        ("PUT", "/v1/people/clara", {"json": {"role": "viewer", "password": "long enough 12"}}),
        ("PUT", "/v1/cameras/gate/areas", {"json": {}}),
    ],
)
def test_a_body_that_came_too_late_changes_nothing(
    filled_room: RestRoom, method: str, path: str, body: dict[str, Any]
) -> None:
    before = filled_room.get("/v1/lists"), filled_room.get("/v1/audit")
    filled_room.withdraw_rights()
    assert filled_room.client.request(method, path, **body).status_code == 401
    assert (filled_room.get("/v1/lists"), filled_room.get("/v1/audit")) == before


@pytest.mark.parametrize("path", ["/v1/passes?format=csv", "/v1/plates/A123BC77/export"])
def test_an_export_breaks_off(filled_room: RestRoom, path: str) -> None:
    whole = filled_room.client.get(path)
    filled_room.withdraw_rights()
    with filled_room.client.stream("GET", path) as answer:
        assert b"".join(answer.iter_raw()) == b""
    assert (whole.status_code, len(whole.content) > 100) == (200, True)
