"""Pictures that were sent are forgotten when their passes are stored, and not before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from plate_cameras.frames import Upload
from plate_cameras.watching import unfinished_pictures
from plate_cameras.watching.unfinished_pictures import UnfinishedPictures


@dataclass
class WriterCounts:
    """A writer that has taken some events, and written some."""

    accepted: int = 0
    written: int = 0


class UploadLog(list[str]):
    """The names of the uploads that were finished."""

    def make_upload(self, name: str) -> Upload:
        async def finish() -> None:
            self.append(name)

        return Upload(name.encode(), finish, finish)


async def test_a_picture_waits_for_the_first_event_of_its_passes_and_for_the_store() -> None:
    counts, log = WriterCounts(), UploadLog()
    pictures = UnfinishedPictures(counts)
    pictures.add(log.make_upload("a"), ["told", "untold"])
    await pictures.finish({"untold"})
    counts.accepted = 2
    await pictures.finish(())
    counts.accepted, counts.written = 3, 1
    await pictures.finish(())
    assert log == []
    counts.written = 2
    await pictures.finish(())
    assert log == ["a"]
    assert len(pictures) == 0


async def test_a_picture_without_passes_waits_for_nothing() -> None:
    log = UploadLog()
    pictures = UnfinishedPictures(WriterCounts())
    pictures.add(log.make_upload("a"), ())
    await pictures.finish({"other"})
    assert log == ["a"]


async def test_not_many_pictures_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished_pictures, "MAX_KEPT", 2)
    log = UploadLog()
    pictures = UnfinishedPictures(WriterCounts())
    for name in ("a", "b", "c"):
        pictures.add(log.make_upload(name), ["untold"])
    await pictures.finish({"untold"})
    assert log == ["a"]


async def test_a_picture_that_cannot_be_forgotten_now_is_forgotten_later() -> None:
    failures, log = [OSError("the disk is full")], UploadLog()

    async def finish() -> None:
        if failures:
            raise failures.pop()
        log.append("a")

    pictures = UnfinishedPictures()
    pictures.add(Upload(b"a", finish, finish), ())
    await pictures.finish(())
    assert log == []
    await pictures.finish(())
    assert log == ["a"]


async def test_the_end_of_a_camera_waits_for_the_store_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unfinished_pictures, "LAST_S", 0.1)
    counts, log = WriterCounts(accepted=1), UploadLog()
    pictures = UnfinishedPictures(counts)
    pictures.add(log.make_upload("a"), ())
    await pictures.drain()
    assert log == []
    draining = asyncio.ensure_future(pictures.drain())
    await asyncio.sleep(0)
    counts.written = 1
    await draining
    assert log == ["a"]
