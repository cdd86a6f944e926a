"""Sends frames to the service, with a limit on how many are on their way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.frames import Frame
from orchestrator.errors import Overloaded, PlateError, ServerError
from orchestrator.plates import Plates
from orchestrator.system.backoff import exponential_s

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0
"""Pauses of a camera after the service was away or full; they double."""
SERVICE_AWAY = (ServerError, Overloaded)
"""Errors that say nothing about the frame: the service answers later."""

Sleep = Callable[[float], Awaitable[None]]


class RecognizingClient(Protocol):
    """The part of `AsyncPlateClient` that cameras need."""

    async def recognize(
        self, picture: bytes, *, roi: tuple[float, float, float, float] | None = None
    ) -> Plates: ...


@dataclass
class ServiceHealth:
    """The service as a camera sees it.

    Attributes:
        failures: Failed calls since the last answer.
        last_error: The last failure as a sentence; empty after an answer.
        rejected_frames: Frames that the service cannot use.
    """

    failures: int = 0
    last_error: str = ""
    rejected_frames: int = 0


class FrameRecognizer:
    """Recognises frames of all cameras. Cameras take the slots in turns.

    Attributes:
        slots: Frames that may be at the service at once. A camera takes its frame when it has a
            slot, so that the frame is the newest.
    """

    def __init__(
        self, client: RecognizingClient, at_once: int, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.slots = asyncio.Semaphore(at_once)
        self._client = client
        self._sleep = sleep

    async def recognize(self, camera: Camera, frame: Frame, health: ServiceHealth) -> Plates | None:
        """Return the plates of a frame, or None if there is no answer for it.

        After an error of the service this waits, so that the camera does not ask at once again.
        """
        try:
            plates = await self._client.recognize(frame.jpeg, roi=region_of(camera, frame.size_wh))
        except SERVICE_AWAY as error:
            health.last_error = str(error)
            pause_s = exponential_s(health.failures, FIRST_PAUSE_S, LONGEST_PAUSE_S)
            health.failures += 1
            await self._sleep(pause_s)
            return None
        except PlateError as error:
            health.rejected_frames += 1
            health.last_error = str(error)
            return None
        health.failures, health.last_error = 0, ""
        return plates


def region_of(camera: Camera, size_wh: tuple[int, int]) -> tuple[float, float, float, float] | None:
    """Return the part of the frame to search, xyxy pixels; None for all of it.

    It is the box round all zones if plates outside of them are ignored. A smaller part is searched
    faster, and in more detail.
    """
    if not camera.only_in_zones or not camera.zones:
        return None
    points = [*chain.from_iterable(zone.polygon for zone in camera.zones)]
    xs, ys = (
        [point[0] * size_wh[0] for point in points],
        [point[1] * size_wh[1] for point in points],
    )
    return (min(xs), min(ys), max(xs), max(ys))
