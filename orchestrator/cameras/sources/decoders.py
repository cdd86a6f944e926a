"""Runs decoding processes, watches them, and gives the frames of each camera."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from types import TracebackType
from typing import Any

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.frames import Frame
from orchestrator.cameras.sources.messages import Head, pack, receive_message
from orchestrator.cameras.sources.source_status import SourceStatus
from orchestrator.system.backoff import exponential_s
from orchestrator.system.subprocesses import prepare_child, without_secrets

LOG = logging.getLogger(__name__)
PER_PROCESS = 4
"""Cameras in one process. If one hangs, the others of its process start again with it."""
HANG_S = 40.0
"""A source that does nothing for so long hangs; timeouts end connecting and reading earlier."""
SILENT_S, START_S = 15.0, 60.0
"""A process that tells nothing for so long hangs; the second limit is that of its start."""
WATCH_EVERY_S = 0.5
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
"""Pauses before a process is started again; they double."""
NO_TIME_S = -1.0
"""Time before every frame of a file."""
LIMIT = 64 * 2**20
"""Bytes that are read ahead from a process."""


class CameraStream:
    """The frames of one camera, see `FrameStream`.

    Attributes:
        status: The state of the source.
    """

    def __init__(self, camera: Camera, process: _Process, id_: int) -> None:
        self.camera = camera
        self.id = id_
        self.status = SourceStatus()
        self.age_s = 0.0
        self._process = process
        self._before = SourceStatus()
        self._last_s = NO_TIME_S
        self._is_asked = False
        self._ready = asyncio.Event()
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self.is_ended = False

    async def ready(self) -> bool:
        """Wait for a frame. Return False at the end of the stream."""
        await self._ready.wait()
        return not self.is_ended

    async def next(self) -> Frame | None:
        """Return the newest frame, or a file's next one; None if there is none any more."""
        self._ready.clear()
        if self.is_ended:
            return None
        self._is_asked = True
        self._process.send({"kind": "take", "id": self.id})
        return await self._frames.get()

    async def close(self) -> None:
        """Stop the source."""
        self._process.remove(self)
        self.end()

    def obey(self, head: Head, body: bytes) -> None:
        """Take a message of the decoding process."""
        if head["kind"] == "ready":
            self._ready.set()
        elif head["kind"] == "frame":
            size = head["size_wh"][0], head["size_wh"][1]
            name = self.camera.name
            frame = Frame(name, head["number"], head["time_s"], head["clock"], body, size)
            self._last_s = frame.time_s
            self._answer(frame)
        elif head["kind"] == "ended":
            self.end()
        else:
            values = head["status"] | {"size_wh": tuple(head["status"]["size_wh"])}
            self.status, self.age_s = self._total(SourceStatus(**values)), head["age_s"]

    def end(self) -> None:
        """End the stream; whoever waits for a frame gets none."""
        self.is_ended = True
        self._ready.set()
        self._answer(None)

    def lose_process(self) -> None:
        """Forget the frame that was asked for: the process that had it has ended."""
        if self.is_ended:
            return
        self._ready.clear()
        self.age_s = 0.0
        self._before = self.status = replace(self.status, state="connecting")
        self._answer(None)

    def describe(self) -> Head:
        """Return the message that makes a process follow this camera."""
        camera = json.loads(json.dumps(asdict(self.camera)))
        return {"kind": "open", "id": self.id, "camera": camera, "after_s": self._last_s}

    def _answer(self, frame: Frame | None) -> None:
        """Give a frame to the one who has asked for it, or tell that there is none."""
        if self._is_asked:
            self._is_asked = False
            self._frames.put_nowait(frame)

    def _total(self, status: SourceStatus) -> SourceStatus:
        """Add the counts of the processes before."""
        names = ("decoded", "sent", "dropped", "reconnects")
        counts = {name: getattr(status, name) + getattr(self._before, name) for name in names}
        return replace(status, **counts)


@dataclass(eq=False)
class _Process:
    """One decoding process, which is started again when it ends or hangs."""

    streams: dict[int, CameraStream] = field(default_factory=dict)
    child: subprocess.Popen[bytes] | None = None
    writer: asyncio.StreamWriter | None = None
    heard_s: float = 0.0
    has_spoken: bool = False
    restarts: int = 0

    def add(self, stream: CameraStream) -> None:
        self.streams[stream.id] = stream
        self.send(stream.describe())

    def remove(self, stream: CameraStream) -> None:
        if self.streams.pop(stream.id, None):
            self.send({"kind": "close", "id": stream.id})

    def send(self, head: Head) -> None:
        """Send a message; a process that has ended gets none."""
        if self.writer and not self.writer.is_closing():
            self.writer.write(pack(head))

    async def run(self) -> None:
        """Run the process, again and again, until the task is cancelled."""
        failures = 0
        while True:
            started_s = time.monotonic()
            try:
                await self._run_once()
            finally:
                self._kill()
            failures = 0 if time.monotonic() - started_s > SILENT_S else failures + 1
            self.restarts += 1
            LOG.warning("a decoding process has ended and is started again")
            await asyncio.sleep(exponential_s(failures, FIRST_PAUSE_S, LONGEST_PAUSE_S))

    async def _run_once(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.child = _start(theirs)
        reader, self.writer = await asyncio.open_connection(sock=ours, limit=LIMIT)
        self.heard_s, self.has_spoken = time.monotonic(), False
        for stream in self.streams.values():
            if not stream.is_ended:
                self.send(stream.describe())
        watching = asyncio.create_task(self._watch())
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    self._hand_out(*await receive_message(reader))
        finally:
            watching.cancel()
            self.writer.close()
            for stream in self.streams.values():
                stream.lose_process()

    def _hand_out(self, head: Head, body: bytes) -> None:
        self.heard_s, self.has_spoken = time.monotonic(), True
        if stream := self.streams.get(head["id"]):
            stream.obey(head, body)

    async def _watch(self) -> None:
        """Kill the process when it or one of its sources hangs."""
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            hanging = [one.camera.name for one in self.streams.values() if one.age_s > HANG_S]
            limit_s = SILENT_S if self.has_spoken else START_S
            is_silent = bool(self.streams) and time.monotonic() - self.heard_s > limit_s
            if hanging or is_silent:
                LOG.error("decoding of %s hangs", ", ".join(hanging) or "all cameras")
                self._kill()

    def _kill(self) -> None:
        if self.child:
            self.child.kill()
            self.child.wait()


class Decoders:
    """Decodes the frames of any number of cameras, in watched processes.

    Example:
        ```python
        async with Decoders() as decoders:
            stream = decoders.open(Camera("gate", "rtsp://10.0.0.5/stream1"))
            while await stream.ready():
                frame = await stream.next()
        ```

    Args:
        per_process: Most cameras in one process.
    """

    def __init__(self, per_process: int = PER_PROCESS) -> None:
        self._per_process = per_process
        self._processes: list[_Process] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._ids = count()

    async def __aenter__(self) -> Decoders:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def open(self, camera: Camera) -> CameraStream:
        """Start to follow a camera."""
        process = self._choose_process()
        stream = CameraStream(camera, process, next(self._ids))
        process.add(stream)
        return stream

    def _choose_process(self) -> _Process:
        """Return the fullest process with room, or a new one."""
        with_room = [one for one in self._processes if len(one.streams) < self._per_process]
        if with_room:
            return max(with_room, key=lambda one: len(one.streams))
        process = _Process()
        self._processes.append(process)
        self._tasks.append(asyncio.create_task(process.run()))
        return process


def _start(connection: socket.socket) -> subprocess.Popen[Any]:
    """Start a decoding process with its end of the connection."""
    number = connection.fileno()
    return subprocess.Popen(
        [sys.executable, "-m", "orchestrator.cameras.sources", str(number)],
        stdin=subprocess.DEVNULL,
        pass_fds=[number],
        env=without_secrets(),
        preexec_fn=prepare_child,
    )
