"""A watched folder whose files stay, are large, or come from a slow file system."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from orchestrator.errors import ServerError
from plate_cameras.sources.sent import folder_pictures
from tests.plate_cameras.sources.sent.vendor_messages import picture
from tests.plate_cameras.sources.sent.watched_folder import LATER_S, Folder


def keep_from_reading(patch: pytest.MonkeyPatch, file: str) -> None:
    """Refuse to open a file, as the system does with those of other users."""

    def refuse(path: str, *arguments: int, **options: int) -> int:
        if path == file:
            raise PermissionError(13, "Permission denied")
        return open_file(path, *arguments, **options)

    open_file = os.open
    patch.setattr(folder_pictures.os, "open", refuse)


def test_files_that_are_not_ours_to_read_are_told(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_from_reading(monkeypatch, "a.jpg")
    folder.add("a.jpg")
    folder.add("b.jpg")
    assert len(folder.read()) == 1
    assert folder.stream.status.last_error.endswith("a.jpg cannot be read: Permission denied")


def test_a_file_that_can_be_read_at_last_is_read_and_one_that_can_be_moved_is_moved(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder.add("a.jpg")
    folder.add("b.jpg")
    (folder.top / "read").write_bytes(b"no folder")
    with monkeypatch.context() as patch:
        keep_from_reading(patch, "a.jpg")
        assert [len(folder.read()) for _ in range(3)] == [1, 0, 0]
    assert len(caplog.records) == 1
    (folder.top / "read").unlink()
    assert len(folder.read()) == 1
    folder.read()
    assert folder.names("read") == ["a.jpg", "b.jpg"]
    assert folder.pictures.problem == ""


@pytest.mark.parametrize(
    ("open_s", "stat_s", "counts"),
    [
        pytest.param(1.0, 0.0, [5, 5, 0], id="slow to read"),
        pytest.param(6.0, 0.0, [*[1] * 10, 0], id="very slow to read"),
        pytest.param(0.0, 1.0, [*[1] * 6, 3, 1, 0], id="slow to list"),
    ],
)
def test_a_slow_file_system_is_asked_for_a_few_files_at_once(
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    open_s: float,
    stat_s: float,
    counts: list[int],
) -> None:
    def open_slowly(path: str, *arguments: int, **options: int) -> int:
        folder.now_s += open_s * str(path).endswith(".jpg")
        return open_file(path, *arguments, **options)

    def ask_slowly(path: str, **options: int) -> os.stat_result:
        folder.now_s += stat_s * str(path).endswith(".jpg")
        return get_status(path, **options)  # type: ignore[call-overload, no-any-return]

    open_file, get_status = os.open, os.stat
    for number in range(10):
        folder.add(f"{number}.jpg")
    asyncio.run(folder.pictures.take())
    folder.now_s += LATER_S
    monkeypatch.setattr(folder_pictures.os, "open", open_slowly)
    monkeypatch.setattr(folder_pictures.os, "stat", ask_slowly)
    for count in counts:
        pictures = asyncio.run(folder.pictures.take())
        assert len(pictures) == count
        for sent_picture in pictures:
            asyncio.run(sent_picture.upload.finish())
        folder.now_s += LATER_S


@pytest.mark.parametrize("name", ["a.jpeg", "a.JFIF", "a.jpe", "a.Webp", "a.bmp"])
def test_a_picture_has_one_of_the_usual_endings(folder: Folder, name: str) -> None:
    folder.add(name)
    folder.add(f"{name}.part")
    folder.add(f".{name}")
    assert len(folder.read()) == 1
    assert folder.names("read") == [name]


def test_large_pictures_are_read_one_after_the_other(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_pictures, "MAX_BYTES", 2 * len(picture()))
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        folder.add(name)
    asyncio.run(folder.pictures.take())
    folder.now_s += LATER_S
    assert len(asyncio.run(folder.pictures.take())) == 2
    assert len(asyncio.run(folder.pictures.take())) == 1


def test_pictures_of_a_scan_that_ends_too_late_come_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_late(path: str, *arguments: int, **options: int) -> int:
        may_go.wait(30)
        return open_file(path, *arguments, **options)

    open_file, may_go = os.open, threading.Event()
    folder.add("a.jpg")
    asyncio.run(folder.pictures.take())
    folder.now_s += LATER_S
    with monkeypatch.context() as patch:
        patch.setattr(folder_pictures, "ANSWER_S", 0.05)
        patch.setattr(folder_pictures.os, "open", open_late)
        with pytest.raises(ServerError, match="has not answered"):
            asyncio.run(folder.pictures.take())
        may_go.set()
    assert len(folder.read()) == 1
