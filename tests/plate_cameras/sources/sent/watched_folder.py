"""A watched folder of a test."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.frames import Frame
from plate_cameras.sources.sent import folder_pictures
from plate_cameras.sources.sent.folder_pictures import FolderPictures
from plate_cameras.sources.sent.sent_stream import SentStream
from tests.plate_cameras.sources.sent.vendor_messages import picture

LATER_S = 100.0


class Folder:
    """A watched folder whose clock the test moves on."""

    def __init__(self, top: Path, patch: pytest.MonkeyPatch, read_files: str = "move") -> None:
        self.top, self.now_s, self.read_files = top, 0.0, read_files
        patch.setattr(folder_pictures, "steady_s", lambda: self.now_s)
        self.open()

    def open(self) -> None:
        self.pictures = FolderPictures(self.top, self.read_files)
        self.stream = SentStream(Camera("gate", f"folder:{self.top}"), self.pictures)

    def add(self, name: str, content: bytes = b"", changed_s: float = 1e9) -> Path:
        file = self.top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content or picture())
        os.utime(file, (changed_s, changed_s))
        return file

    def read(self, *, finishes: bool = True) -> list[Frame]:
        """Return the frames of what has settled by now and of what settles soon."""
        return asyncio.run(self._read(finishes=finishes))

    async def _read(self, *, finishes: bool) -> list[Frame]:
        frames = []
        for _ in range(3):
            self.now_s += LATER_S
            self.stream._queue.extend(await self.pictures.take())
            while self.stream._queue:
                if (frame := await self.stream.next()) and frame.upload:
                    frames.append(frame)
                    if finishes:
                        await frame.upload.finish()
        return frames

    def names(self, where: str = ".") -> list[str]:
        names = (file.name for file in (self.top / where).iterdir())
        return sorted(name.partition("-")[2] or name for name in names)
