"""Sends frames to the service, with a limit on how many are on their way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from math import ceil, floor

from orchestrator.client.aio import AsyncPlateClient
from orchestrator.errors import ModelError, PlateError, RequestError
from orchestrator.host.retry import exponential_s, may_be_too_large
from orchestrator.plates import Plates
from plate_cameras.clocks import steady_s
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame

FIRST_PAUSE_S, MAX_PAUSE_S = 0.25, 10.0
"""Pauses of a camera after the service was away or full; they double."""
MIN_SLOT_S, USUAL_FACTOR = 0.2, 3.0
"""A frame keeps its slot for so many usual answers, and for no shorter time. Then the next camera
gets the slot: a call that ends by its timeout, or a frame that does not come, holds up no other."""
FIRST_USUAL_S, NEW_WEIGHT = 0.1, 0.1
"""Usual time of an answer before the first one, and the weight of a new one in it."""
ABOUT_FRAME = {None, 400, 413, 500, "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "INTERNAL", "UNKNOWN"}
"""Statuses of errors that a frame may cause. Others mean a wrong key or another service."""
MIN_SUSPICIONS, MIN_SUSPECTED_S = 5, 40.0
"""Failures one after the other, and the time since the first, from which on the frame may be their
cause. The gateway's health check is younger than that time: if the service is ready, it has read
another picture meanwhile."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass
class ServiceHealth:
    """The service as a camera sees it.

    Attributes:
        failures: Failed calls since the last answer.
        last_error: The last failure as a sentence; empty after an answer.
        pause_s: Seconds that the camera waits before its next frame.
        suspicions: Failures, one after the other, of which the frame may be the cause.
        suspected_s: Time of the first of them, by the recognizer's clock.
    """

    failures: int = 0
    last_error: str = ""
    rejected_frames: int = 0
    pause_s: float = 0.0
    suspicions: int = 0
    suspected_s: float = 0.0


class FrameRecognizer:
    """Recognises frames of all cameras. Cameras take the slots in turns.

    A camera whose last call failed takes one of the slots for retries. So it cannot slow cameras
    whose calls succeed, however many fail and however long that takes.

    Args:
        sleep: Waits for a number of seconds.

    Attributes:
        slots: Frames that may be at the service at once. A camera takes its frame when it has a
            slot, so that the frame is the newest.
        retry_slots: The same for cameras whose last call failed.
    """

    def __init__(
        self,
        client: AsyncPlateClient,
        at_once: int,
        sleep: Sleep = asyncio.sleep,
        *,
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self.slots, self.retry_slots = asyncio.Semaphore(at_once), asyncio.Semaphore(at_once)
        self._client = client
        self._sleep, self._clock = sleep, clock
        self._usual_s = FIRST_USUAL_S

    @asynccontextmanager
    async def slot_of(self, health: ServiceHealth) -> AsyncIterator[None]:
        """Wait for a slot, and hold it inside a `with` block, but not much longer than usual."""
        slots, is_held = self.retry_slots if health.failures else self.slots, True
        await slots.acquire()

        def release() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                slots.release()

        max_s = max(MIN_SLOT_S, USUAL_FACTOR * self._usual_s)
        timer = asyncio.get_running_loop().call_later(max_s, release)
        try:
            yield
        finally:
            timer.cancel()
            release()

    async def recognize(self, camera: Camera, frame: Frame, health: ServiceHealth) -> Plates | None:
        """Return the plates of a frame, or None if there is no answer for it.

        After an error of the service, the camera must first return its slot, and then `rest`.
        """
        started_s = self._clock()
        try:
            plates = await self._client.recognize(frame.jpeg, roi=region_of(camera, frame.size_wh))
        except PlateError as error:
            health.last_error = str(error)
            if _is_about_frame(error) or await self._is_cause(frame, error, health):
                health.rejected_frames += 1
                health.failures = health.suspicions = 0  # it is an answer
                return None
            health.pause_s = exponential_s(health.failures, FIRST_PAUSE_S, MAX_PAUSE_S)
            health.failures += 1
            return None
        health.failures, health.suspicions, health.last_error = 0, 0, ""
        self._usual_s += NEW_WEIGHT * (self._clock() - started_s - self._usual_s)
        return plates

    async def _is_cause(self, frame: Frame, error: PlateError, health: ServiceHealth) -> bool:
        """Tell whether a frame has failed for long, although the service reads other pictures."""
        if not (_may_reject(error, ModelError) or may_be_too_large(error, len(frame.jpeg))):
            health.suspicions = 0
            return False
        if not health.suspicions:
            health.suspected_s = self._clock()
        health.suspicions += 1
        is_early = self._clock() - health.suspected_s < MIN_SUSPECTED_S
        if is_early or health.suspicions < MIN_SUSPICIONS:
            return False
        return await self._client.is_ready()

    async def rest(self, health: ServiceHealth) -> None:
        """Wait after an error of the service, so that the camera does not ask at once again."""
        pause_s, health.pause_s = health.pause_s, 0.0
        if pause_s:
            await self._sleep(pause_s)


def _is_about_frame(error: PlateError) -> bool:
    """Tell whether an error is about the frame, and not about a service that may answer later."""
    return _may_reject(error, RequestError)


def _may_reject(error: PlateError, kind: type[PlateError]) -> bool:
    """Tell whether an error is of a kind, with a status that a frame may cause."""
    statuses = {error.response.status, error.response.grpc_code}
    return isinstance(error, kind) and statuses <= ABOUT_FRAME


def region_of(camera: Camera, size_wh: tuple[int, int]) -> tuple[float, float, float, float] | None:
    """Return the part of the frame to search, xyxy in whole pixels; None for all of it.

    It is the box round all zones if plates outside of them are ignored. A smaller part is searched
    faster, and in more detail. The service also searches round it, so that it cuts no plate.
    """
    if not camera.only_in_zones or not camera.zones:
        return None
    points = [*chain.from_iterable(zone.polygon for zone in camera.zones)]
    xs, ys = (
        [at * side for at in ats]
        for ats, side in zip(zip(*points, strict=True), size_wh, strict=True)
    )
    return (floor(min(xs)), floor(min(ys)), ceil(max(xs)), ceil(max(ys)))
