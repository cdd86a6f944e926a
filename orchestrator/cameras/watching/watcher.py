"""Watches all cameras of a configuration, and follows changes of it while they run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.cameras.configuration import Camera, Configuration
from orchestrator.cameras.watching.camera_loop import (
    CameraLoop,
    FrameStream,
    Permit,
    Receive,
    Tracker,
)
from orchestrator.cameras.watching.frame_recognizer import FrameRecognizer

LOG = logging.getLogger(__name__)
OF_THE_STREAM = (
    *("url", "verify_tls", "tls_ca_file"),
    *("looks_per_s", "motion_threshold", "schedule"),
)
"""Settings that need another stream; a camera whose other settings change keeps its stream."""


class ConfigurableTracker(Tracker, Protocol):
    """A tracker whose camera may get other settings."""

    @property
    def open_passes(self) -> int: ...
    def configure(self, camera: Camera) -> None: ...


OpenStream = Callable[[Camera], FrameStream]
MakeTracker = Callable[[Camera], ConfigurableTracker]


@dataclass
class _Watched:
    loop: CameraLoop
    tracker: ConfigurableTracker
    task: asyncio.Task[None]


class Watcher:
    """Runs a loop for each camera.

    Args:
        open_stream: Opens the frames of a camera.
        make_tracker: Makes a tracker for a camera.
        recognizer: Access to the service.
        receive: Takes the events of all passes.

    Attributes:
        permit: Tells whether a frame may be used; None for always.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        make_tracker: MakeTracker,
        recognizer: FrameRecognizer,
        receive: Receive,
    ) -> None:
        self._open_stream = open_stream
        self._make_tracker = make_tracker
        self._recognizer = recognizer
        self._receive = receive
        self.permit: Permit | None = None
        self._changing = asyncio.Lock()
        self._watched: dict[str, _Watched] = {}

    @property
    def loops(self) -> tuple[CameraLoop, ...]:
        """The loops of all cameras, in the order of the configuration."""
        return tuple(one.loop for one in self._watched.values())

    async def apply(self, configuration: Configuration) -> None:
        """Start, change and stop cameras so that they are those of a configuration.

        A camera whose stream's settings stay the same keeps its stream and its open passes.
        """
        await self.follow(configuration.cameras)

    async def follow(self, cameras: Sequence[Camera]) -> None:
        """Follow exactly these cameras, see `apply`; there may be none."""
        wanted = {camera.name: camera for camera in cameras}
        async with self._changing:
            await asyncio.gather(*(self._stop(name) for name in self._ending(wanted)))
            for name, camera in wanted.items():
                if name in self._watched:
                    self._configure(self._watched[name], camera)
                else:
                    self._watched[name] = self._start(camera)
            self._watched = {name: self._watched[name] for name in wanted}

    def count_open(self, name: str) -> int:
        """Return the number of vehicles that a camera shows now."""
        return self._watched[name].tracker.open_passes if name in self._watched else 0

    async def finish(self) -> None:
        """Wait until every stream has ended by itself. An error of a camera is raised."""
        await asyncio.gather(*(one.task for one in self._watched.values()))

    async def stop(self) -> None:
        """Stop all cameras and close their passes."""
        await asyncio.gather(*(self._stop(name) for name in [*self._watched]))

    def _ending(self, wanted: Mapping[str, Camera]) -> list[str]:
        """Return the cameras whose streams end."""
        return [
            name
            for name, one in self._watched.items()
            if name not in wanted or _needs_another_stream(one.loop.camera, wanted[name])
        ]

    def _start(self, camera: Camera) -> _Watched:
        tracker = self._make_tracker(camera)
        loop = CameraLoop(
            camera,
            self._open_stream(camera),
            tracker,
            self._recognizer,
            self._receive,
            self.permit,
        )
        return _Watched(loop, tracker, asyncio.create_task(loop.run(), name=camera.name))

    def _configure(self, watched: _Watched, camera: Camera) -> None:
        if watched.loop.camera != camera:
            watched.loop.camera = camera
            watched.tracker.configure(camera)
            watched.loop.stream.configure(camera)
            LOG.info("%s: new settings", camera.name)

    async def _stop(self, name: str) -> None:
        watched = self._watched.pop(name)
        watched.loop.is_ending, task = True, watched.task
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()):
            LOG.error("%s: stopped: %s", name, error)


def _needs_another_stream(old: Camera, new: Camera) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in OF_THE_STREAM)
