"""Real decoding processes, over files and over streams of a small server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.frames import Frame
from orchestrator.cameras.sources import decoders as decoders_module
from orchestrator.cameras.sources.decoders import CameraStream, Decoders
from tests.cameras.clips import moving_frames, write_clip

pytestmark = pytest.mark.server
LIMIT_S = 60


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", moving_frames(30))


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of a minute, in a form that can be read while it is being sent."""
    path = tmp_path_factory.mktemp("clip") / "clip.ts"
    return write_clip(path, moving_frames(600), codec="mpeg2video")


def follow(act: Callable[[Decoders], Awaitable[None]], per_process: int = 4) -> None:
    async def run() -> None:
        async with Decoders(per_process) as decoders:
            await asyncio.wait_for(act(decoders), LIMIT_S)

    asyncio.run(run())


async def collect(stream: CameraStream) -> list[Frame]:
    frames = []
    while await stream.ready():
        if frame := await stream.next():
            frames.append(frame)
    return frames


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.02)


@asynccontextmanager
async def serving(path: Path, *, bytes_per_s: int, port: int = 0) -> AsyncIterator[str]:
    """Send a file again and again over HTTP, at the pace of a live stream."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\n\r\n")
            content = path.read_bytes()
            step = bytes_per_s // 20
            for start in range(0, len(content), step):
                writer.write(content[start : start + step])
                await writer.drain()
                await asyncio.sleep(0.05)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/stream.ts"


def test_no_frame_of_a_file_is_dropped_and_it_ends(clip: Path) -> None:
    async def act(decoders: Decoders) -> None:
        stream = decoders.open(Camera("clip", str(clip), looks_per_s=5))
        frames = await collect(stream)
        assert [frame.time_s for frame in frames] == pytest.approx([n / 5 for n in range(15)])
        assert {(frame.camera, frame.clock, frame.size_wh) for frame in frames} == {
            ("clip", "file", (320, 180))
        }
        picture = cv2.imdecode(np.frombuffer(frames[0].jpeg, np.uint8), cv2.IMREAD_COLOR)
        wanted = next(iter(moving_frames(30)))
        assert abs(picture.astype(float) - wanted).mean() < 12
        assert (stream.status.dropped, stream.status.last_error) == (0, "")

    follow(act)


def test_a_live_stream_gives_the_newest_frame_and_drops_the_others(long_clip: Path) -> None:
    async def act(decoders: Decoders) -> None:
        rate = long_clip.stat().st_size // 60
        async with serving(long_clip, bytes_per_s=4 * rate) as url:
            stream = decoders.open(Camera("gate", url, looks_per_s=20, motion_threshold=0))
            assert await stream.ready()
            first = await stream.next()
            await until(lambda: stream.status.dropped > 3)
            assert await stream.ready()
            second = await stream.next()
            assert first
            assert second
            assert second.number - first.number > 3
            assert (stream.status.state, second.clock) == ("playing", "wall")
            await stream.close()

    follow(act)


def test_a_stream_that_is_away_comes_back_by_itself(long_clip: Path, free_port: int) -> None:
    async def act(decoders: Decoders) -> None:
        url = f"http://user:secret@127.0.0.1:{free_port}/stream.ts"
        stream = decoders.open(Camera("gate", url))
        await until(lambda: stream.status.reconnects > 0)
        assert stream.status.state in ("waiting", "connecting")
        assert "refused" in stream.status.last_error
        assert "secret" not in repr(stream.status)
        async with serving(long_clip, bytes_per_s=2**20, port=free_port):
            assert await stream.ready()
            assert await stream.next()
            before = stream.status.reconnects
        await until(lambda: stream.status.reconnects > before)
        await stream.close()

    follow(act)


def test_a_whole_file_may_come_over_http(clip: Path, free_port: int) -> None:
    async def act(decoders: Decoders) -> None:
        command = [sys.executable, "-m", "http.server", str(free_port), "--bind", "127.0.0.1"]
        with subprocess.Popen(command, cwd=clip.parent, stderr=subprocess.DEVNULL) as server:
            url = f"http://127.0.0.1:{free_port}/{clip.name}"
            try:
                frames = await collect(decoders.open(Camera("clip", url, looks_per_s=5)))
            finally:
                server.kill()
        assert [frame.time_s for frame in frames] == pytest.approx([n / 5 for n in range(15)])
        assert {frame.clock for frame in frames} == {"file"}

    follow(act)


def test_the_last_frame_of_a_large_file_comes_before_its_end(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "large.mp4", moving_frames(4, (1920, 1080)))

    async def act(decoders: Decoders) -> None:
        for _ in range(3):
            stream = decoders.open(Camera("clip", str(path), looks_per_s=10))
            assert len(await collect(stream)) == 4
            await stream.close()

    follow(act)


def test_a_killed_process_is_replaced_and_its_cameras_go_on(long_clip: Path) -> None:
    async def act(decoders: Decoders) -> None:
        rate = long_clip.stat().st_size // 60
        async with serving(long_clip, bytes_per_s=rate) as url:
            streams = [decoders.open(Camera(name, url, motion_threshold=0)) for name in "ab"]
            for stream in streams:
                assert await stream.ready()
                assert await stream.next()
            (process,) = decoders._processes
            assert process.child
            os.kill(process.child.pid, signal.SIGKILL)
            await until(lambda: process.restarts == 1)
            for stream in streams:
                assert await stream.ready()
                assert await stream.next()
                await stream.close()

    follow(act)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_file_goes_on_where_it_was_when_its_process_ends_or_hangs(
    clip: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoders_module, "SILENT_S", 3.0)

    async def act(decoders: Decoders) -> None:
        stream = decoders.open(Camera("clip", str(clip), looks_per_s=5))
        assert await stream.ready()
        first = await stream.next()
        (process,) = decoders._processes
        assert process.child
        os.kill(process.child.pid, number)
        await until(lambda: process.restarts > 0)
        times = [frame.time_s for frame in (first, *await collect(stream)) if frame]
        assert times == pytest.approx([n / 5 for n in range(15)])

    follow(act)


def test_cameras_share_processes_and_end_with_them(clip: Path) -> None:
    async def act(decoders: Decoders) -> None:
        for number in range(5):
            decoders.open(Camera(str(number), str(clip)))
        processes = decoders._processes
        assert [len(process.streams) for process in processes] == [2, 2, 1]
        await until(lambda: all(process.child for process in processes))
        children.extend(process.child.pid for process in processes if process.child)

    children: list[int] = []
    follow(act, per_process=2)
    assert len(children) == 3
    for pid in children:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
