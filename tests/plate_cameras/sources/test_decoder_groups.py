"""The end of a decoder's process while its messages arrive."""

import asyncio
import errno
import os
import signal
import socket
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import ServerError
from plate_cameras.background_tasks import BackgroundTasks
from plate_cameras.configuration import Camera
from plate_cameras.sources.children import Child
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.status import Limits
from tests.plate_cameras.watching.fakes import no_sleep

ENDLESS = 10_000


class TalkativeChild:
    """A child that always has a message at the next turn of the event loop."""

    def __init__(self) -> None:
        self.count = 0
        self.process = SimpleNamespace(pid=1, returncode=0)

    async def read(self) -> SimpleNamespace:
        self.count += 1
        await asyncio.sleep(60 if self.count > ENDLESS else 0)
        return SimpleNamespace(id=0)

    def send(self, message: object) -> None:
        """Take a message."""

    async def end(self) -> int:
        return 0


@pytest.mark.parametrize("turns", range(10, 20))
async def test_a_process_ends_when_its_last_camera_is_closed_while_a_message_arrives(
    monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    async def start(command: object) -> TalkativeChild:
        return TalkativeChild()

    monkeypatch.setattr(Child, "start", start)
    async with Decoders() as decoders:
        stream = decoders.open(Camera("gate", "rtsp://10.0.0.5/stream1"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await stream.close()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        subprocess.SubprocessError("Exception occurred in preexec_fn."),
        PermissionError(errno.EACCES, "Permission denied"),
        RuntimeError("can't start new thread"),
    ],
    ids=repr,
)
def test_a_process_that_cannot_be_started_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(ServerError, match=r"decoder: .* cannot be run"):
        asyncio.run(Child.start())


async def test_a_process_without_a_socket_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socketpair", refuse)  # the loop has its own by now
    with pytest.raises(ServerError, match="Too many open files"):
        await Child.start()


async def test_a_group_that_fails_is_started_again_and_its_cameras_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks, started = BackgroundTasks(sleep=no_sleep), list[int]()

    class BrokenChild(TalkativeChild):
        async def read(self) -> SimpleNamespace:
            raise ValueError("a message that cannot be read")

    async def start(command: object) -> TalkativeChild:
        started.append(1)
        return BrokenChild() if len(started) == 1 else TalkativeChild()

    monkeypatch.setattr(Child, "start", start)
    async with Decoders(tasks=tasks) as decoders:
        stream = decoders.open(Camera("gate", "rtsp://10.0.0.5/stream1"))
        while len(started) < 2:
            await asyncio.sleep(0)
        (status,) = tasks.statuses
        assert (status.name, status.failures) == ("decoder 1", 1)
        assert "a message that cannot be read" in stream.status.last_error
        await stream.close()


async def test_the_cameras_of_a_process_that_gets_no_threads_stay_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = list[int]()

    class EndedChild(TalkativeChild):
        def __init__(self) -> None:
            super().__init__()
            self.process.returncode = os.EX_TEMPFAIL

        async def read(self) -> SimpleNamespace:
            raise EOFError

    async def start(command: object) -> TalkativeChild:
        started.append(1)
        return EndedChild() if len(started) < 6 else TalkativeChild()

    monkeypatch.setattr(Child, "start", start)
    limits = Limits(first_pause_s=0.001, longest_pause_s=0.001)
    async with Decoders(limits=limits) as decoders:
        streams = [decoders.open(Camera(name, "rtsp://10.0.0.5/1")) for name in ("in", "out")]
        while len(started) < 6:
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
