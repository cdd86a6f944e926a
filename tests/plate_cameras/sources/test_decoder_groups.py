"""The end of a decoder's process while its messages arrive."""

import asyncio
import errno
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import ServerError
from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.configuration import Camera
from plate_cameras.sources.camera_stream import CameraStream
from plate_cameras.sources.children import Child
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.status import Limits
from tests.plate_cameras.watching.fakes import no_sleep

ENDLESS = 10_000


class TalkativeChild:
    """A child that always has a message of a camera at the next turn of the event loop."""

    def __init__(self, camera: int = 0) -> None:
        self.camera, self.count = camera, 0
        self.process = SimpleNamespace(pid=1, returncode=0)

    async def read(self) -> SimpleNamespace:
        self.count += 1
        await asyncio.sleep(60 if self.count > ENDLESS else 0)
        return SimpleNamespace(id=self.camera)

    def send(self, message: object) -> None:
        """Take a message."""

    async def end(self) -> int:
        return 0


Children = Callable[[Callable[[int], TalkativeChild]], list[int]]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    """Let a function give each child by its number, and return the numbers of those started."""

    def use(make: Callable[[int], TalkativeChild]) -> list[int]:
        async def start(_: object) -> TalkativeChild:
            numbers.append(len(numbers))
            return make(numbers[-1])

        numbers: list[int] = []
        monkeypatch.setattr(Child, "start", start)
        return numbers

    return use


@pytest.mark.parametrize("turns", range(10, 20))
async def test_a_process_ends_when_its_last_camera_is_closed_while_a_message_arrives(
    children: Children, turns: int
) -> None:
    children(lambda _: TalkativeChild())
    async with Decoders() as decoders:
        stream = decoders.open(Camera("gate", "rtsp://10.0.0.5/stream1"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await stream.close()


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ((subprocess, "Popen"), OSError(errno.EMFILE, "Too many open files")),
        ((subprocess, "Popen"), subprocess.SubprocessError("Exception occurred in preexec_fn.")),
        ((subprocess, "Popen"), RuntimeError("can't start new thread")),
        ((socket, "socketpair"), OSError(errno.EMFILE, "Too many open files")),
    ],
)
async def test_a_process_that_cannot_be_started_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch, where: tuple[object, str], error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(*where, refuse)  # the loop has its own sockets by now
    with pytest.raises(ServerError, match=rf"decoder: .*{re.escape(str(error.args[-1]))}"):
        await Child.start()


class FailingChild(TalkativeChild):
    """A child whose next message is an error."""

    def __init__(self, error: Exception, status: int = 0) -> None:
        super().__init__()
        self.error, self.process.returncode = error, status

    async def read(self) -> SimpleNamespace:
        raise self.error


async def test_a_group_that_fails_is_started_again_and_its_cameras_are_told(
    children: Children,
) -> None:
    broken_child = FailingChild(ValueError("a message that cannot be read"))
    numbers = children(lambda number: TalkativeChild() if number else broken_child)
    tasks = BackgroundTasks(sleep=no_sleep)
    async with Decoders(tasks=tasks) as decoders:
        stream = decoders.open(Camera("gate", "rtsp://10.0.0.5/stream1"))
        while len(numbers) < 2:
            await asyncio.sleep(0)
        (status,) = tasks.statuses
        assert (status.name, status.failures) == ("decoder 1", 1)
        assert "a message that cannot be read" in stream.status.last_error
        await stream.close()


async def test_a_camera_whose_messages_cannot_be_used_gets_a_process_of_its_own(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: CameraStream, message: SimpleNamespace) -> None:
        raise ValueError(f"a fault of camera {message.id}")

    monkeypatch.setattr(CameraStream, "receive", fail)
    numbers = children(lambda number: TalkativeChild(0 if number else 1))
    async with Decoders(limits=Limits(first_pause_s=0.001, max_pause_s=0.001)) as decoders:
        streams = [decoders.open(Camera(name, "rtsp://10.0.0.5/1")) for name in ("in", "out")]
        while len(numbers) < 3:
            await asyncio.sleep(0.001)
        left, isolated = ([*group.streams.values()] for group in decoders.groups)
        assert (left, isolated) == ([streams[1]], [streams[0]])


async def test_the_cameras_of_a_process_that_gets_no_threads_stay_together(
    children: Children,
) -> None:
    child_without_threads = FailingChild(EOFError(), os.EX_TEMPFAIL)
    numbers = children(lambda number: child_without_threads if number < 5 else TalkativeChild())
    async with Decoders(limits=Limits(first_pause_s=0.001, max_pause_s=0.001)) as decoders:
        streams = [decoders.open(Camera(name, "rtsp://10.0.0.5/1")) for name in ("in", "out")]
        while len(numbers) < 6:
            await asyncio.sleep(0.001)
        (group,) = decoders.groups
        assert [*group.streams.values()] == streams


class SlowProcess:
    """A killed process that ends only while it is waited for."""

    returncode: int | None = None

    def kill(self) -> None:
        """Take the signal."""

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float) -> None:
        self.returncode = -signal.SIGKILL


async def test_a_process_is_reaped_although_the_wait_for_its_end_is_cancelled() -> None:
    process: Any = SlowProcess()
    writer: Any = SimpleNamespace(close=lambda: None)
    child = Child(process, asyncio.StreamReader(), writer)
    ending = asyncio.create_task(child.end())
    await asyncio.sleep(0)  # it is killed, and not yet reaped
    ending.cancel()
    await asyncio.wait({ending})
    assert child.process.returncode == -signal.SIGKILL
