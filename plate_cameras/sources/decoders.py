"""Decoders: child processes that play cameras, watched and started again when one hangs."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
from collections.abc import Callable, Sequence
from types import TracebackType

from orchestrator.errors import ServerError
from orchestrator.host.retry import exponential_s
from plate_cameras.background_tasks import BackgroundTasks, describe
from plate_cameras.configuration import Camera
from plate_cameras.sources.camera_stream import CameraStream
from plate_cameras.sources.children import COMMAND, Child
from plate_cameras.sources.messages import Message, Report
from plate_cameras.sources.network.addresses import resolve_paths
from plate_cameras.sources.status import Limits

LOG = logging.getLogger(__name__)
PER_PROCESS = 4
"""Cameras in one process. More save memory; fewer are interrupted when one hangs."""

MAX_DEATHS = 2
"""Ends of its process after which a camera gets one of its own, see `CameraStream.note_death`."""
START_S = 60.0
"""Longest time until a new process sends its first message."""

Isolate = Callable[[CameraStream, float], None]


class DecoderGroup:
    """The cameras of one child process.

    Args:
        command: Command of the process; the number of its socket follows.
        isolate: Takes a camera that may have ended the process, and the pause before it is opened
            again, to play it in a process of its own.
        tasks: The owner of the task that keeps the process running.
    """

    def __init__(
        self,
        limits: Limits,
        command: Sequence[str],
        isolate: Isolate,
        *,
        tasks: BackgroundTasks | None = None,
        name: str = "decoder",
    ) -> None:
        self._limits, self._command, self._isolate = limits, command, isolate
        self._tasks, self.name = tasks or BackgroundTasks(), name
        self._child: Child | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False
        self._pauses: dict[int, float] = {}
        self.streams: dict[int, CameraStream] = {}

    def add(self, stream: CameraStream, pause_s: float = 0.0) -> None:
        """Play a camera in this process, too, after a pause."""
        self.streams[stream.number] = stream
        self._pauses[stream.number] = pause_s
        stream.send, stream.leave = self._send, lambda: self._remove(stream)
        self._send(stream.make_opening())
        if self._task is None:
            self._task = self._tasks.start(self.name, self._run)

    async def end(self) -> None:
        """End the process."""
        self._cancel()
        if self._task is not None:
            await asyncio.wait({self._task})

    @property
    def pid(self) -> int | None:
        """Id of the process; None while there is none."""
        return self._child.process.pid if self._child else None

    @property
    def has_ended(self) -> bool:
        """True if its process ended because its last camera was closed."""
        return self._task is not None and self._task.done()

    def _remove(self, stream: CameraStream) -> None:
        self.streams.pop(stream.number, None)
        if not self.streams:
            self._cancel()

    def _cancel(self) -> None:
        """Cancel the task once. A second time would interrupt the end of its process."""
        if self._task is not None and not self._is_cancelled:
            self._is_cancelled = True
            self._tasks.cancel(self.name)

    def _send(self, message: Message) -> None:
        if self._child is not None:
            self._child.send(message)

    async def _run(self) -> None:
        """Keep a process running for the cameras, until this task is cancelled."""
        failures = 0
        while not self._is_cancelled:
            try:
                child = await Child.start(self._command)
            except ServerError as error:
                LOG.warning("%s", error)
                self._interrupt(str(error))
                await asyncio.sleep(self._pause_s(failures))
                failures += 1
                continue
            try:
                reason, hung_number = await self._run_once(child)
            except Exception as error:  # the owner of this task logs it, and starts it again
                self._interrupt(f"a decoder is started again: {describe(error)}")
                raise
            LOG.warning("%s", reason)
            self._interrupt(reason)
            if child.process.returncode == os.EX_TEMPFAIL:  # the system lacks threads
                await asyncio.sleep(self._pause_s(failures))
                failures += 1
                continue
            failures = 0
            await self._blame(hung_number)

    async def _blame(self, hung_number: int | None) -> None:
        """Count the end of the process for the camera that hung; for all if it is not known.

        Cameras whose process ends again get one each, so that only the faulty one is interrupted.
        """
        streams = [*self.streams.values()]
        deaths = {
            stream: stream.note_death()
            for stream in streams
            if hung_number in (None, stream.number)
        }
        if hung_number in self.streams:
            self._delay(self.streams[hung_number], max(deaths.values()))
        elif len(streams) > 1 and max(deaths.values(), default=0) >= MAX_DEATHS:
            self._scatter()
        else:
            await asyncio.sleep(self._pause_s(max(deaths.values(), default=1) - 1))

    def _interrupt(self, reason: str) -> None:
        for stream in [*self.streams.values()]:
            stream.interrupt(reason)

    def _scatter(self) -> None:
        """Play each camera in a process of its own, and end with this one."""
        for number, stream in [*self.streams.items()]:
            del self.streams[number]
            self._isolate(stream, 0.0)
        self._cancel()

    def _delay(self, stream: CameraStream, deaths: int) -> None:
        """Open a camera that hung after a pause, in a process where it cannot interrupt others."""
        pause_s = self._pause_s(deaths - 1)
        if len(self.streams) == 1:
            self._pauses[stream.number] = pause_s
        else:
            del self.streams[stream.number]
            self._isolate(stream, pause_s)

    def _pause_s(self, failures: int) -> float:
        max_s = exponential_s(failures, self._limits.first_pause_s, self._limits.max_pause_s)
        return max_s * random.uniform(0.5, 1)

    async def _run_once(self, child: Child) -> tuple[str, int | None]:
        """Serve one process. Return why it ended, and the number of the camera that hung."""
        try:
            self._child = child
            for stream in self.streams.values():
                if stream.status.state != "ended":
                    child.send(stream.make_opening(self._pauses.pop(stream.number, 0.0)))
            return await self._serve(child)
        finally:
            self._child = None
            await child.end()

    async def _serve(self, child: Child) -> tuple[str, int | None]:
        hang_s = self._limits.hang_s
        silence_s = max(START_S, hang_s)
        while True:
            try:
                message = await asyncio.wait_for(child.read(), silence_s)
                silence_s = hang_s
            except asyncio.TimeoutError:
                return f"a decoder gave no sign for {silence_s:g} s. It is started again", None
            except EOFError:
                return "a decoder has ended. It is started again", None
            except ServerError as error:
                return str(error), None
            if self._is_cancelled:  # before Python 3.12, `wait_for` may lose it to a message
                raise asyncio.CancelledError
            stream = self.streams.get(message.id)
            if stream is not None:
                name = stream.camera.name
                try:
                    stream.receive(message)
                except Exception:  # one camera must not end the decoder of others again and again
                    LOG.exception("%s: a message of its decoder cannot be used", name)
                    return f"a decoder of camera {name} is started again", message.id
                if isinstance(message, Report) and message.silent_s > hang_s:
                    return (
                        f"the source of camera {name} hung. Its decoder is started again",
                        message.id,
                    )


class Decoders:
    """All child processes that decode.

    Args:
        command: Command of a process; the number of its socket follows.
        tasks: The owner of their tasks; one of its own if it is left out.
    """

    def __init__(
        self,
        per_process: int = PER_PROCESS,
        limits: Limits | None = None,
        *,
        command: Sequence[str] = COMMAND,
        tasks: BackgroundTasks | None = None,
    ) -> None:
        self._per_process, self._limits, self._command = per_process, limits or Limits(), command
        self._tasks = tasks or BackgroundTasks()
        self._numbers = itertools.count(1)
        self._isolated_groups: set[DecoderGroup] = set()
        self.groups: list[DecoderGroup] = []

    def open(self, camera: Camera) -> CameraStream:
        """Play a camera. An event loop must run."""
        camera = resolve_paths(camera)
        stream = CameraStream(next(self._numbers), camera, self._limits)
        self.groups = [group for group in self.groups if not group.has_ended]
        self._isolated_groups &= {*self.groups}
        groups = (group for group in self.groups if self._has_place(group))
        group = next(groups, None) or self._new_group()
        group.add(stream)
        return stream

    def _has_place(self, group: DecoderGroup) -> bool:
        return group not in self._isolated_groups and 0 < len(group.streams) < self._per_process

    def _new_group(self) -> DecoderGroup:
        used_names = {group.name for group in self.groups if not group.has_ended}
        names = (f"decoder {number}" for number in itertools.count(1))
        name = next(name for name in names if name not in used_names)
        group = DecoderGroup(
            self._limits, self._command, self._isolate, tasks=self._tasks, name=name
        )
        self.groups.append(group)
        return group

    def _isolate(self, stream: CameraStream, pause_s: float) -> None:
        group = self._new_group()
        self._isolated_groups.add(group)
        group.add(stream, pause_s)

    async def __aenter__(self) -> Decoders:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for group in self.groups:
            for stream in [*group.streams.values()]:
                await stream.close()
            await group.end()
