"""Taking frames from streams in tests, with deadlines, and tasks beside a test."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from plate_cameras.frames import Frame
from plate_cameras.sources.camera_stream import CameraStream

WITHIN_S = 60.0


async def wait(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition is true; fail after a time."""
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, f"wanted {what}"
        await asyncio.sleep(0.02)


async def take(stream: CameraStream, count: int) -> list[Frame]:
    """Return a number of frames; replacements of lost frames are awaited."""
    frames: list[Frame] = []
    while len(frames) < count:
        assert await asyncio.wait_for(stream.wait_for_frame(), WITHIN_S)
        frame = await stream.next()
        frames += [frame] if frame else []
    return frames


async def take_until(stream: CameraStream, condition: Callable[[Frame], bool]) -> Frame:
    """Return the first frame that meets a condition."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        (frame,) = await take(stream, 1)
        if condition(frame):
            return frame
        assert time.monotonic() < deadline, f"got {frame}"


async def take_all(stream: CameraStream, pause_s: float = 0.0) -> list[Frame]:
    """Return all frames of a file, with a pause before each."""
    frames = []
    while await asyncio.wait_for(stream.wait_for_frame(), WITHIN_S):
        await asyncio.sleep(pause_s)
        frame = await stream.next()
        frames += [frame] if frame else []
    return frames


@asynccontextmanager
async def beside(coroutine: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine beside a `with` block."""
    task = asyncio.create_task(coroutine)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
