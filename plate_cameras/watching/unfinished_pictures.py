"""Pictures that cameras have sent, and whose passes are not stored yet.

A process may be killed at any moment. So a picture is forgotten when the event of its pass is
stored, and not before. Until then it comes again after a restart, and makes the same pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from plate_cameras.background_tasks import Note, make_note
from plate_cameras.clocks import steady_s
from plate_cameras.frames import Upload

MAX_KEPT = 50
"""Largest number of pictures that wait for the first events of their passes; above it, the oldest
picture is dropped."""
LAST_S, POLL_S = 2.0, 0.05
"""Longest wait for the store at the end of a camera, and the pause between two looks."""


class Storing(Protocol):
    """Counts events in their order."""

    @property
    def accepted(self) -> int:
        """Number of events that were handed on."""

    @property
    def written(self) -> int:
        """Number of those that are stored."""


@dataclass
class _Picture:
    """A picture that is not forgotten yet.

    Attributes:
        passes: Ids of its passes.
        stored_at: Number of written events from which on these passes are stored; None while no
            event has told of one of them.
    """

    upload: Upload
    passes: frozenset[str]
    stored_at: int | None = None


@dataclass
class UnfinishedPictures:
    """The pictures of one camera.

    Attributes:
        storing: Counts the events; None if nobody stores them.
    """

    storing: Storing | None = None
    _pictures: list[_Picture] = field(default_factory=list)
    _note: Note = field(default_factory=lambda: make_note("pictures that were read still wait"))

    def __len__(self) -> int:
        return len(self._pictures)

    def add(self, upload: Upload, passes: Collection[str]) -> None:
        """Keep a picture until its passes are stored."""
        self._pictures.append(_Picture(upload, frozenset(passes)))

    async def finish(self, untold_ids: Collection[str]) -> None:
        """Forget the pictures whose passes are stored.

        Args:
            untold_ids: Ids of the passes of which no event was made yet.
        """
        accepted, written = self._counts
        for at, picture in enumerate(self._pictures):
            is_surplus = at < len(self._pictures) - MAX_KEPT
            if picture.stored_at is None and (is_surplus or picture.passes.isdisjoint(untold_ids)):
                picture.stored_at = accepted
        for picture in [*self._pictures]:
            if picture.stored_at is None or picture.stored_at > written:
                continue
            try:
                await picture.upload.finish()
            except Exception as error:  # a disk or a database: the next round may succeed
                self._note(error)
                return
            self._pictures.remove(picture)
        self._note(None)

    async def drain(self) -> None:
        """Wait a moment for the store, and forget the stored pictures. The others come again."""
        deadline_s = steady_s() + LAST_S
        await self.finish(())
        while self._pictures and steady_s() < deadline_s:
            await asyncio.sleep(POLL_S)
            await self.finish(())

    @property
    def _counts(self) -> tuple[int, int]:
        return (self.storing.accepted, self.storing.written) if self.storing else (0, 0)
