"""The frames of a camera that sends by itself, for the watcher."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

import cv2

from orchestrator.errors import Overloaded, PictureError, PlateError
from orchestrator.host.text_lines import to_line
from orchestrator.imaging.decoding import decode_bgr
from plate_cameras.background_tasks import describe, make_note
from plate_cameras.clocks import local_now, steady_s, unix_s
from plate_cameras.configuration import Camera
from plate_cameras.frames import Clock, Frame, Upload
from plate_cameras.setting_parts import is_watched
from plate_cameras.sources.network.policy import MAX_PIXELS
from plate_cameras.sources.status import SourceStatus, State

LOG = logging.getLogger(__name__)
POLL_S = 0.25
"""Pause between two looks for new pictures."""
QUALITY = 95
"""JPEG quality of pictures that come in another format."""
JPEG = b"\xff\xd8\xff"
MAX_AHEAD_S = 60.0
"""Clocks of machines may differ so much. A later picture was stamped before a clock was set back,
so its age is not known."""


@dataclass(frozen=True)
class SentPicture:
    """A picture that waits to be read.

    Attributes:
        content: The file.
        time_s: Its Unix time; a clock may have been set back since.
    """

    content: bytes = field(repr=False)
    time_s: float
    clock: Clock
    upload: Upload


class SentPictures(Protocol):
    """The place where the pictures of one camera wait.

    Attributes:
        problem: The reason why some pictures are not read; empty if all are.
    """

    @property
    def problem(self) -> str: ...

    async def take(self) -> Sequence[SentPicture]:
        """Return the next pictures in their order, each once.

        After a restart, those that were not finished come again.

        Raises:
            PlateError: The place cannot be used now.
        """


class SentStream:
    """The frames of one camera.

    Args:
        pictures: The place where its pictures wait.
    """

    def __init__(self, camera: Camera, pictures: SentPictures) -> None:
        self._camera, self._pictures = camera, pictures
        self._queue: deque[SentPicture] = deque()
        self._status = SourceStatus(state="playing")
        self._note = make_note(f"{camera.name}: no pictures are read")
        self._failure: PlateError | None = None

    @property
    def status(self) -> SourceStatus:
        """The state and the counts of the source."""
        problem = str(self._failure or self._pictures.problem)
        return replace(self._status, last_error=problem) if problem else self._status

    async def wait_for_frame(self) -> bool:
        """Wait for a picture."""
        while not self._queue:
            try:
                self._queue.extend(await self._pictures.take())
            except PlateError as error:  # such as a folder that is not mounted: it may come back
                self._failure = error
            else:
                self._failure = None
            self._note(self._failure)
            is_on = is_watched(self._camera.schedule, local_now())
            state: State = "waiting" if self._failure else "playing" if is_on else "off"
            self._status = replace(self._status, state=state)
            if not self._queue:
                await asyncio.sleep(POLL_S)
        return True

    async def next(self) -> Frame | None:
        """Return the next frame; None if its picture cannot be read, or is not to be."""
        if not self._queue:
            return None
        picture = self._queue.popleft()
        age_s = _age_of(picture.time_s)
        picture = replace(picture, time_s=min(picture.time_s, unix_s()))
        if not is_watched(self._camera.schedule, datetime.fromtimestamp(picture.time_s)):
            await picture.upload.finish()
            return None
        try:
            jpeg, size_wh = await asyncio.to_thread(to_jpeg, picture.content)
        except (Overloaded, OSError, MemoryError):  # the machine is at fault
            raise
        except Exception as error:  # it would fail again and again, and hold up others
            reason = to_line(describe(error).removeprefix("encoded_image: "))
            rejected = self._status.rejected + 1
            self._status = replace(self._status, last_error=reason, rejected=rejected)
            LOG.warning("%s: %s", self._camera.name, reason)
            await picture.upload.reject()
            return None
        return self._make_frame(picture, age_s, jpeg, size_wh)

    async def close(self) -> None:
        """Forget the pictures that were taken. They stay where they wait."""
        self._queue.clear()

    def configure(self, camera: Camera) -> None:
        """Take over other settings."""
        self._camera = camera

    def _make_frame(
        self, picture: SentPicture, age_s: float, jpeg: bytes, size_wh: tuple[int, int]
    ) -> Frame:
        status = self._status
        self._status = replace(
            status,
            decoded=status.decoded + 1,
            sent=status.sent + 1,
            size_wh=size_wh,
            clock=picture.clock,
            last_frame_s=picture.time_s,
        )
        return Frame(
            self._camera.name,
            status.sent,
            picture.time_s,
            picture.clock,
            jpeg,
            size_wh,
            steady_s=steady_s() - age_s,
            upload=picture.upload,
        )


def _age_of(time_s: float) -> float:
    """Return the age of a picture; a long one if it is not known, so that it opens no gate."""
    age_s = unix_s() - time_s
    return age_s if age_s >= 0 else -age_s if age_s < -MAX_AHEAD_S else 0.0


def to_jpeg(content: bytes) -> tuple[bytes, tuple[int, int]]:
    """Return a picture as a JPEG file, and its width and height.

    Raises:
        PictureError: It is no picture, damaged, or has too many pixels.
        Overloaded: There is not enough memory for it now.
    """
    bgr = decode_bgr(content, max_pixels=MAX_PIXELS)
    height, width = bgr.shape[:2]
    if content.startswith(JPEG):
        return content, (width, height)
    is_encoded, jpeg = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not is_encoded:
        raise PictureError(f"picture: wanted sides that JPEG can have, got {width}x{height}")
    return jpeg.tobytes(), (width, height)
