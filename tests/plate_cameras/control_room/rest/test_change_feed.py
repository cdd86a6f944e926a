"""Listeners of the change feed in one process, with a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from orchestrator.serving.gateway.errors import QuotaExceeded, ServiceFull
from plate_cameras.clocks import unix_s
from plate_cameras.control_room.rest import change_feed
from plate_cameras.control_room.rest.change_feed import MAX_WAITING, ChangeFeed, Listener, Notice
from plate_cameras.control_room.rest.events import View
from plate_cameras.control_room.rest.streams import OpenStreams
from plate_cameras.store.finding.change_log import ChangeReader
from plate_cameras.store.finding.pass_query import StoredHit
from plate_cameras.store.scope import EVERYTHING, Scope
from plate_cameras.store.writing.live_tables import CameraState
from tests.plate_cameras.control_room.rest.rooms import RestRoom
from tests.plate_cameras.store.stored_events import make_event

HITS = (StoredHit("residents", "A123BC77", "flat 12", 0),)
OF_THE_GATE = Scope(("east",), frozenset({"gate"}))


def show(hits: tuple[StoredHit, ...]) -> bytes:
    return b"%d" % len(hits)


NOTICE = Notice("pass.closed", "gate", show, 1, 1, HITS)
CAMERA = Notice("camera", "gate", show)


@asynccontextmanager
async def polling(room: RestRoom) -> AsyncIterator[ChangeFeed]:
    """Return a feed, which runs as soon as somebody listens."""
    feed = ChangeFeed(room.room)
    with feed.listen():
        await feed.find_settled_number()
        task = asyncio.create_task(feed.run())
        yield feed
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize(
    ("notice", "scope", "content"),
    [
        pytest.param(NOTICE, EVERYTHING, b"id: 1\nevent: pass.closed\ndata: 1", id="with its hit"),
        pytest.param(NOTICE, OF_THE_GATE, b"id: 1\nevent: pass.closed\ndata: 0", id="without it"),
        pytest.param(CAMERA, EVERYTHING, b"event: camera\ndata: 0", id="camera, no id"),
    ],
)
def test_an_event_is_sent_with_its_number_and_hits_of_own_lists(
    notice: Notice, scope: Scope, content: bytes
) -> None:
    assert notice.to_sse(scope) == content + b"\n\n"


def test_an_event_that_cannot_be_shown_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: tuple[StoredHit, ...]) -> bytes:
        raise ValueError("a damaged pass")

    notices = [Notice("pass.closed", "gate", fail, 1, 1), CAMERA]
    assert View(EVERYTHING, frozenset()).render(notices) == CAMERA.to_sse(EVERYTHING)
    assert "gate: its event pass.closed is left out" in caplog.text


async def test_all_listeners_get_each_event_until_the_feed_ends(room: RestRoom) -> None:
    async with polling(room) as feed:
        with feed.listen() as first, feed.listen() as second:
            await asyncio.to_thread(room.store.write, [make_event("a")], [])
            (notice,), (other,) = await first.next(10), await second.next(10)
    assert notice == other
    assert (notice.kind, notice.camera, notice.number) == ("pass.closed", "gate", 1)


async def test_states_that_cannot_be_shown_do_not_end_the_feed(
    room: RestRoom, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise TypeError("of a later version")

    monkeypatch.setattr(change_feed, "read_cameras", fail)
    async with polling(room) as feed:
        with feed.listen() as listener:
            for pass_id in ("a", "b"):
                await asyncio.to_thread(room.store.write, [make_event(pass_id)], [])
                assert [notice.kind for notice in await listener.next(10)] == ["pass.closed"]
    assert "live events wait" in caplog.text


async def test_passes_that_cannot_be_read_do_not_end_the_events_of_cameras(
    room: RestRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise KeyError("a damaged row")

    monkeypatch.setattr(ChangeReader, "read", fail)
    monkeypatch.setattr(change_feed, "CAMERAS_S", 0.0)
    async with polling(room) as feed:
        with feed.listen() as listener:
            while not feed._cameras:
                await asyncio.sleep(0.01)
            state = CameraState("gate", "watcher-1", unix_s(), {"state": "playing"})
            await asyncio.to_thread(room.store.live.write_states, [state])
            assert [notice.kind for notice in await listener.next(10)] == ["camera"]


async def test_a_listener_waits_no_longer_than_it_wants_and_a_slow_one_is_dropped() -> None:
    listener = Listener()
    assert await listener.next(0.01) == []
    listener.offer(NOTICE)
    assert await listener.next(1) == [NOTICE]
    for _ in range(MAX_WAITING):
        listener.offer(NOTICE)
    assert not listener.has_ended
    listener.offer(NOTICE)
    assert listener.has_ended
    assert await listener.next(1) == []


def test_streams_are_limited_for_one_client_and_in_all() -> None:
    streams = OpenStreams(max_streams=2, max_of_client=1)
    with streams.open("anna"):
        with pytest.raises(QuotaExceeded, match="at most 1"), streams.open("anna"):
            pass
        with streams.open("boris"), pytest.raises(ServiceFull, match="all streams"):  # noqa: SIM117
            with streams.open("clara"):
                pass
    with streams.open("anna"):
        pass
