"""The stream of a camera that could not be opened."""

from __future__ import annotations

from plate_cameras.background_tasks import describe
from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.sources.status import SourceStatus


class UnopenedStream:
    """Stands in for a stream, and raises the reason when a frame is wanted.

    Args:
        error: The reason.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.status = SourceStatus(state="waiting", last_error=describe(error))

    async def ready(self) -> bool:
        """Raise the reason."""
        raise self._error

    async def next(self) -> Frame | None:
        """Return no frame."""
        return None

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def configure(self, camera: Camera) -> None:
        """Do nothing: the camera is opened with its newest settings."""
