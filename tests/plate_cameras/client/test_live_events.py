"""Live events, against a server of the test's own that ends its streams."""

import asyncio
import itertools
import json
import threading
from contextlib import aclosing
from datetime import datetime, timezone
from typing import Any

import pytest

from orchestrator.errors import Overloaded, RequestError, ServerError
from plate_cameras.client import (
    AsyncCamerasClient,
    CameraReport,
    CamerasClient,
    LiveEvent,
    PassRecord,
    event_feed,
)
from plate_cameras.client.live_events import Block, BlockReader
from tests.plate_cameras.client.scripted_server import ScriptedAnswer, asking, serving
from tests.plate_cameras.client.test_records import PASS

CAMERA = {
    "name": "gate",
    "group": "north",
    "state": "waiting",
    "error": "connection refused",
    "updated": "2026-11-25T08:00:00.000Z",
    "delay_s": 0.25,
    "dropped_share": 0.0,
    "zones": [],
}


def event(kind: str, document: Any, number: int | None = None) -> bytes:
    place = b"" if number is None else b"id: %d\n" % number
    return place + f"event: {kind}\ndata: {json.dumps(document)}\n\n".encode()


class Unhurried(CamerasClient):
    """A client that records its pauses instead of waiting."""

    def __init__(self, url: str) -> None:
        self.pauses = list[float]()
        super().__init__(url, key="secret")

    def _sleep(self, pause_s: float) -> None:  # type: ignore[override]
        self.pauses.append(pause_s)


def test_passes_and_cameras_come_as_they_are() -> None:
    pieces = [event("pass.agreed", PASS, 7), b": heartbeat\n\n", event("camera", CAMERA)]
    with asking(ScriptedAnswer(pieces), key="secret") as (server, client):
        events = client.events(camera=["gate", "yard"])
        assert server.requests == []
        first, second = next(events), next(events)
        events.close()
    assert first == LiveEvent("pass.agreed", 7, pass_record=PassRecord.of(PASS))
    assert second == LiveEvent("camera", 7, camera=CameraReport.of(CAMERA))
    assert second.camera is not None
    assert second.camera.updated == datetime(2026, 11, 25, 8, tzinfo=timezone.utc)
    (request,) = server.requests
    assert request.path == "/v1/events?camera=gate&camera=yard"
    assert (request.last_event, request.key) == (None, "Bearer secret")


def test_a_lost_stream_goes_on_after_the_last_event() -> None:
    unready = b'{"detail": "the database cannot be used now"}'
    answers = (
        ScriptedAnswer([event("pass.agreed", PASS, 7)]),
        ScriptedAnswer([unready], status=503, kind="application/problem+json"),
        ScriptedAnswer([b"id: 7\nretry: 3000\n\n"]),
        ScriptedAnswer([event("pass.closed", PASS, 9)]),
    )
    with serving(*answers) as server, Unhurried(server.url) as client:
        events = client.events(after=5)
        assert [next(events).kind, next(events).kind] == ["pass.agreed", "pass.closed"]
        events.close()
    assert [request.last_event for request in server.requests] == ["5", "7", "7", "7"]
    assert client.retried == 3
    assert [0.25 <= client.pauses[0] <= 0.5, 1 <= client.pauses[2] <= 2] == [True, True]


def test_a_service_that_is_away_for_long_is_asked_more_and_more_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_feed, "steady_s", itertools.count(0.0, 60.0).__next__)
    away = ScriptedAnswer(
        [b'{"detail": "the database cannot be used now"}'], 503, "application/json"
    )
    first, last = event("pass.agreed", PASS, 7), event("pass.closed", PASS, 9)
    answers = (ScriptedAnswer([first]), *[away] * 4, ScriptedAnswer([last]))
    with serving(*answers) as server, Unhurried(server.url) as client:
        events = client.events()
        assert [next(events).number, next(events).number] == [7, 9]
        events.close()
    assert client.pauses[0] <= 0.5
    assert client.pauses[4] >= 4


def test_a_key_that_has_ended_ends_the_events() -> None:
    answers = (
        ScriptedAnswer([event("pass.agreed", PASS, 7)]),
        ScriptedAnswer([b'{"detail": "wanted a valid key"}'], 401, "application/problem+json"),
    )
    with serving(*answers) as server, Unhurried(server.url) as client:
        events = client.events()
        next(events)
        with pytest.raises(RequestError, match="wanted a valid key"):
            next(events)


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        pytest.param(ScriptedAnswer([b"{}"], 503), ServerError, "HTTP 503", id="no problem"),
        pytest.param(ScriptedAnswer([b'{"detail": "full"}'], 429), Overloaded, "full", id="full"),
        pytest.param(
            ScriptedAnswer([b"<html>"], kind="text/html"), ServerError, "HTTP 200", id="page"
        ),
        pytest.param(
            ScriptedAnswer([b'{"detail": "no such path: /v1/events"}'], 404),
            RequestError,
            "--cameras",
            id="no cameras",
        ),
        pytest.param(
            ScriptedAnswer([b"event: camera\ndata: {}\n\n"]),
            ServerError,
            "no answer of events",
            id="no camera",
        ),
    ],
)
def test_the_first_connection_fails_as_other_calls(
    answer: ScriptedAnswer, kind: type[Exception], message: str
) -> None:
    with serving(answer) as server, Unhurried(server.url) as client:
        with pytest.raises(kind, match=message):
            next(client.events())
        assert client.pauses == []


def test_a_client_that_is_closed_ends_its_events() -> None:
    """Another thread waits for the next piece, which never arrives."""
    answer = ScriptedAnswer([event("pass.agreed", PASS, 7)], stays_open=True)
    with asking(answer) as (_, client):
        events = client.events()
        next(events)
        closing = threading.Timer(0.1, client.close)
        closing.start()
        with pytest.raises(RequestError, match="the client is closed"):
            next(events)
        closing.join()


async def test_coroutines_follow_events_too() -> None:
    first, second = event("pass.agreed", PASS, 7), event("pass.closed", PASS, 8)
    with serving(ScriptedAnswer([first]), ScriptedAnswer([second], stays_open=True)) as server:
        async with (
            AsyncCamerasClient(server.url) as client,
            aclosing(client.events(after=1)) as events,
        ):
            assert [(await anext(events)).number for _ in range(2)] == [7, 8]
    assert [request.last_event for request in server.requests] == ["1", "7"]


async def test_a_coroutine_that_is_cancelled_closes_its_stream() -> None:
    answer = ScriptedAnswer([event("pass.agreed", PASS, 7)], stays_open=True)
    with serving(answer) as server:
        async with AsyncCamerasClient(server.url) as client:
            events = client.events()
            await anext(events)
            task = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(StopAsyncIteration):
                await anext(events)


def test_pieces_may_end_anywhere() -> None:
    text = b"id: 3\r\nevent: camera\r\ndata: one\r\ndata: two\r\n\r\n: quiet\n\nid: no\ndata:x\n\n"
    reader = BlockReader()
    pieces = [text[start : start + 1] for start in range(len(text))]
    blocks = [block for piece in pieces for block in reader.read(piece)]
    assert blocks == [Block("camera", "one\ntwo", 3), Block("", "", 3), Block("", "x", 3)]


def test_events_of_later_versions_are_left_out() -> None:
    assert Block("gate.opened", "{}", 3).to_event() is None
