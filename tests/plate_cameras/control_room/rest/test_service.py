"""The control room in a real gateway process: live events, and an unreachable database."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import aclosing
from itertools import cycle
from pathlib import Path
from time import time

import pytest

from orchestrator.errors import RequestError
from plate_cameras.client import AsyncCamerasClient, CamerasClient, LiveEvent
from plate_cameras.configuration import Store
from plate_cameras.control_room.rest.streams import MAX_PER_PERSON
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.live_tables import CameraState
from tests.plate_cameras.control_room.access.rooms import TESTER
from tests.plate_cameras.store.postgresql_server import QuickPostgres
from tests.plate_cameras.store.stored_events import make_event
from tests.serving.gateway.conftest import GREY, INFER, Running, gateways, infer_call
from tests.waiting import until

pytestmark = pytest.mark.server
CAMERAS = '[[cameras]]\nname = "gate"\nurl = "rtsp://127.0.0.1:1/a"\n'


class Events:
    """An open stream of events."""

    def __init__(self, running: Running, query: str = "", last_id: str = "") -> None:
        self.connection = running.connect()
        headers = {"last-event-id": last_id} if last_id else {}
        self.connection.request("GET", f"/v1/events{query}", headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        begin = self.read_block()
        assert begin.keys() == {"id", "retry"}
        self.number = begin["id"]

    def read_block(self) -> dict[str, str]:
        """Return the fields of the next event, without comments; empty at the end."""
        lines = iter(self.answer.readline, b"")
        block: dict[str, str] = {}
        for line in (content.decode().rstrip("\n") for content in lines):
            name, _, value = line.partition(": ")
            if not line and block:
                return block
            if name:
                block[name] = value
        return block

    def read(self, count: int) -> list[tuple[str, str]]:
        """Return kinds and passes of the next events."""
        blocks = [self.read_block() for _ in range(count)]
        return [(block["event"], json.loads(block["data"])["id"]) for block in blocks]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cameras")
    (folder / "CAMERAS.toml").write_text(CAMERAS)
    return folder


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[PassStore]:
    """Return the store as `plates watch` opens it."""
    pass_store = open_store(Store(), folder)
    yield pass_store
    pass_store.close()


@pytest.fixture(scope="module")
def running(folder: Path, store: PassStore) -> Iterator[Running]:
    with gateways(folder) as begin:
        yield begin(cameras=folder / "CAMERAS.toml")


def test_events_come_as_passes_are_written_and_what_was_missed_comes_once(
    running: Running, store: PassStore
) -> None:
    first = Events(running)
    for kind in ("agreed", "updated"):
        store.write([make_event("a", kind=kind)], [])
        assert first.read(1) == [(f"pass.{kind}", "a")]
    store.write([make_event("b")], [])
    block = first.read_block()
    first.connection.close()
    store.write([make_event("c"), make_event("d")], [])
    second = Events(running, last_id=block["id"])
    assert second.read(2) == [("pass.closed", "c"), ("pass.closed", "d")]
    third = Events(running, f"?after={block['id']}")
    store.write([make_event("e")], [])
    assert third.read(3)[-1] == ("pass.closed", "e")


def test_a_camera_that_changes_is_told(running: Running, store: PassStore) -> None:
    stop = threading.Event()

    def change() -> None:
        for word in cycle(("playing", "waiting")):  # the first look only remembers
            store.live.write_states([CameraState("gate", "watcher-1", time(), {"state": word})])
            if stop.wait(1.5):
                return

    events = Events(running)
    thread = threading.Thread(target=change)
    thread.start()
    # A pass that was stored just before the stream began may come first.
    block = next(event for event in iter(events.read_block, {}) if event["event"] == "camera")
    stop.set()
    thread.join()
    assert "id" not in block
    assert json.loads(block["data"])["name"] == "gate"


def test_streams_hold_no_slots_of_recognition_and_are_limited(running: Running) -> None:
    answers = [open_stream(running) for _ in range(MAX_PER_PERSON + 1)]
    assert answers[0].status == 200
    assert answers[-1].status == 429
    assert answers[-1].headers["retry-after"]
    body, lengths = infer_call(GREY)
    assert running.ask("POST", INFER, body, **lengths)[0] == 200
    for connection in running.connections:
        connection.close()
    until(lambda: open_stream(running).status == 200, "a stream in the place of a closed one")


def test_streams_that_begin_at_the_same_time_are_limited(running: Running) -> None:
    connections = [running.connect() for _ in range(MAX_PER_PERSON + 4)]
    for connection in connections:
        connection.request("GET", "/v1/events")
    statuses = [connection.getresponse().status for connection in connections]
    assert 0 < statuses.count(200) <= MAX_PER_PERSON  # other tests may hold some
    assert set(statuses) == {200, 429}
    for connection in connections:
        connection.close()


def open_stream(running: Running) -> http.client.HTTPResponse:
    connection = running.connect()
    connection.request("GET", "/v1/events")
    return connection.getresponse()


def test_the_client_finds_and_changes_what_the_store_has(
    running: Running, store: PassStore
) -> None:
    store.write([make_event(f"client-{number}", text="K001KK77") for number in range(5)], [])
    name = "guests of a/b"
    store.lists.save(name, "house 5", None, TESTER)
    with CamerasClient(f"127.0.0.1:{running.port}") as client:
        records = list(client.passes(text="K001*", page=2))
        ids = sorted(record.id for record in records)
        assert ids == [f"client-{number}" for number in range(5)]
        entry = client.put_entry(name, "A001KK77", note="one day", valid_until="2026-12-25")
        assert [*client.entries(name, part="day")] == [entry]
        assert name in {plate_list.name for plate_list in client.lists()}
        client.delete_entry(name, entry.text)
        assert [*client.entries(name)] == []
        with pytest.raises(RequestError, match="no entry"):
            client.delete_entry(name, entry.text)


def test_the_async_client_goes_on_after_an_event(running: Running, store: PassStore) -> None:
    async def follow(after: int | None, pass_id: str) -> LiveEvent:
        async with AsyncCamerasClient(f"127.0.0.1:{running.port}") as client:
            events = client.events(after=after)
            async with aclosing(events):
                return await anext(
                    event
                    async for event in events
                    if event.pass_record and event.pass_record.id == pass_id
                )

    begin = int(Events(running).number)
    store.write([make_event("async-1"), make_event("async-2")], [])
    first = asyncio.run(follow(begin, "async-1"))
    second = asyncio.run(follow(first.number, "async-2"))
    assert first.number is not None
    assert second.number is not None
    assert begin <= first.number <= second.number


def test_a_stream_ends_when_the_process_is_told_to(folder: Path) -> None:
    with gateways(folder) as begin:
        running = begin(cameras=folder / "CAMERAS.toml")
        events = Events(running)
        running.gateway.stop()
        assert events.answer.read() in (b"", b": heartbeat\n\n")


def test_without_its_database_the_room_is_away_and_recognition_is_not(
    server: QuickPostgres, tmp_path: Path
) -> None:
    url = server.create_database("room")
    (tmp_path / "CAMERAS.toml").write_text(f'{CAMERAS}[store]\nurl = "{url}"\n')
    server.kill()
    with gateways(tmp_path) as begin:
        running = begin(cameras=tmp_path / "CAMERAS.toml")
        status, headers, body = running.ask("GET", "/v1/passes")
        assert (status, headers["content-type"]) == (503, "application/problem+json")
        assert json.loads(body)["reason"] == "database"
        assert running.ask("GET", "/v1/events")[0] == 503
        assert running.ask("GET", "/readyz")[0] == 200
        server.start()
        until(lambda: running.ask("GET", "/v1/passes")[0] == 200, "a room with its database")
