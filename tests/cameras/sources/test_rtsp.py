"""RTSP streams of a real server, which is killed, frozen and changed."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

import pytest

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.sources.decoders import CameraStream, Decoders
from tests.cameras.rtsp import ball_picture, needs_rtsp, serve_rtsp

pytestmark = [pytest.mark.server, needs_rtsp]
LIMIT_S = 120


def follow(port: int, act: Callable[[CameraStream], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Decoders() as decoders:
            url = f"rtsp://user:secret@127.0.0.1:{port}/stream"
            stream = decoders.open(Camera("gate", url, looks_per_s=10))
            await asyncio.wait_for(act(stream), LIMIT_S)
            await stream.close()

    asyncio.run(run())


async def take(stream: CameraStream):
    assert await stream.ready()
    frame = await stream.next()
    assert frame
    return frame


def test_a_stream_gives_frames_with_the_time_of_its_clock(free_port: int) -> None:
    async def act(stream: CameraStream) -> None:
        with serve_rtsp(free_port, ball_picture()):
            frames = [await take(stream) for _ in range(5)]
            times = [frame.time_s for frame in frames]
            assert times == sorted(times)
            assert abs(times[-1] - time.time()) < 30
            assert {frame.size_wh for frame in frames} == {(320, 180)}
            assert frames[-1].clock in ("stream", "wall")

    follow(free_port, act)


def test_a_killed_server_is_found_again_with_another_size(free_port: int) -> None:
    async def act(stream: CameraStream) -> None:
        with serve_rtsp(free_port, ball_picture()):
            await take(stream)
        with serve_rtsp(free_port, ball_picture(640, 360)):
            while (await take(stream)).size_wh != (640, 360):
                pass
        assert stream.status.reconnects > 0
        assert "secret" not in repr(stream.status)

    follow(free_port, act)


def test_a_frozen_server_is_left_and_found_again(free_port: int) -> None:
    async def act(stream: CameraStream) -> None:
        with serve_rtsp(free_port, ball_picture()) as server:
            await take(stream)
            server.send_signal(signal.SIGSTOP)
            while not stream.status.reconnects:
                await asyncio.sleep(0.1)
            server.send_signal(signal.SIGCONT)
            before = stream.status.sent
            while stream.status.sent <= before:
                await take(stream)
                await asyncio.sleep(0.1)

    follow(free_port, act)
