"""A watched folder: settled files, each once, without links, moved or deleted afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.errors import PlateError, ServerError
from plate_cameras import clocks
from plate_cameras.configuration import Camera, Schedule
from plate_cameras.sources.sent import folder_pictures, sent_stream
from plate_cameras.sources.sent.folder_pictures import FolderPictures
from plate_cameras.sources.sent.sent_stream import to_jpeg
from tests.plate_cameras.clips import claim_size
from tests.plate_cameras.sources.sent.vendor_messages import picture
from tests.plate_cameras.sources.sent.watched_folder import LATER_S, Folder


@pytest.mark.parametrize(
    ("read_files", "names"),
    [("move", ["2026-11-a.PNG", "b.jpg"]), ("delete", [])],
)
def test_files_are_read_once_the_oldest_first_and_moved_or_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_files: str, names: list[str]
) -> None:
    folder = Folder(tmp_path, monkeypatch, read_files)
    folder.add("b.jpg", changed_s=1e9)
    folder.add("2026/11/a.PNG", picture(ending=".png"), changed_s=1e9 + 60)
    folder.add("notes.txt", b"no picture")
    frames = folder.read()
    assert [frame.time_s for frame in frames] == [1e9, 1e9 + 60]
    assert {frame.jpeg[:2] for frame in frames} == {b"\xff\xd8"}
    assert folder.names("read" if names else "2026/11") == names
    assert folder.names()[-1] == "read" if names else folder.names() == ["2026", "notes.txt"]
    assert (folder.top / "notes.txt").exists()
    assert folder.read() == []


@pytest.mark.parametrize(
    "thumbnail",
    [pytest.param(b"", id="plain"), pytest.param(picture(size_wh=(64, 48)), id="thumbnail")],
)
def test_a_file_that_still_grows_waits(folder: Folder, thumbnail: bytes) -> None:
    size = (2 + len(thumbnail)).to_bytes(2, "big")
    content = picture()[:2] + b"\xff\xe1" + size + thumbnail + picture()[2:]
    file = folder.add("a.jpg", content[: len(content) // 2])
    asyncio.run(folder.pictures.take())
    folder.now_s += 1.5
    assert asyncio.run(folder.pictures.take()) == []
    folder.now_s += 1.5  # unchanged for 3 s, but without its end
    assert asyncio.run(folder.pictures.take()) == []
    file.write_bytes(content)
    [frame] = folder.read()
    assert frame.jpeg == content


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\xd8\xff broken \xff\xd9", id="damaged"),
        pytest.param(picture()[:3000], id="cut off for a minute"),
        pytest.param(b"GIF89a", id="another format"),
        pytest.param(picture() + b"\0" * 20_000_000, id="too large"),
        pytest.param(claim_size(picture(), 30_000, 30_000), id="header of a gigapixel"),
        pytest.param(picture(size_wh=(70_000, 1), ending=".png"), id="too wide for a JPEG"),
    ],
)
def test_a_broken_file_is_set_aside(folder: Folder, content: bytes) -> None:
    folder.add("a.jpg", content)
    folder.add("b.jpg", changed_s=1e9 + 60)
    assert len(folder.read()) == 1
    assert (folder.names("broken"), folder.names("read")) == (["a.jpg"], ["b.jpg"])


def test_a_picture_at_which_our_decoder_fails_holds_up_no_other(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(content: bytes) -> tuple[bytes, tuple[int, int]]:
        return to_jpeg(content) if len(content) > 100 else 1 // 0  # type: ignore[return-value]

    monkeypatch.setattr(sent_stream, "to_jpeg", fail)
    folder.add("a.jpg", b"odd")
    folder.add("b.jpg", changed_s=1e9 + 60)
    assert len(folder.read()) == 1
    assert (folder.names("broken"), folder.stream.status.rejected) == (["a.jpg"], 1)


def test_pictures_from_hours_in_which_nobody_watches_are_not_read(folder: Folder) -> None:
    folder.stream.configure(Camera("gate", "folder:.", schedule=Schedule(days=())))
    folder.add("a.jpg")
    assert folder.read() == []
    assert folder.names("read") == ["a.jpg"]


def test_links_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside, top = tmp_path / "outside", tmp_path / "top"
    outside.mkdir()
    (outside / "secret.jpg").write_bytes(picture())
    folder = Folder(top, monkeypatch)
    folder.add("a.jpg")
    (top / "link.jpg").symlink_to(outside / "secret.jpg")
    (top / "linked").symlink_to(outside, target_is_directory=True)
    (top / "read").symlink_to(outside, target_is_directory=True)
    os.mkfifo(top / "pipe.jpg")
    assert len(folder.read()) == 1  # it cannot be moved, and is not read again
    assert [file.name for file in outside.iterdir()] == ["secret.jpg"]
    assert (top / "a.jpg").exists()


def test_a_file_that_was_not_finished_comes_again_as_the_same(folder: Folder) -> None:
    folder.add("a.jpg")
    [first] = folder.read(finishes=False)
    assert folder.read(finishes=False) == []
    folder.open()  # as after a restart
    [again] = folder.read()
    assert again.upload
    assert first.upload
    assert again.upload.digest == first.upload.digest


LONG = "\u0432\u044a\u0435\u0437\u0434 " * 8 + "/" + "\u0444" * 80 + ".jpg"


@pytest.mark.parametrize(
    ("name", "changed_s"),
    [
        pytest.param(LONG, 1e9, id="long"),
        pytest.param("line\nbreak.jpg", 1e9, id="line break"),
        pytest.param(os.fsdecode(b"\xff\xfe.jpg"), 1e9, id="no UTF-8"),
        pytest.param("-rf.jpg", 1e9, id="option"),
        *(pytest.param("a.jpg", time_s, id=f"{time_s:g} s") for time_s in (-1e10, -1.0, 0.0, 1e11)),
    ],
)
def test_a_file_of_any_name_and_any_time_is_read_and_moved(
    folder: Folder, name: str, changed_s: float
) -> None:
    folder.add(name, changed_s=changed_s)
    [frame] = folder.read()
    assert 0 <= frame.time_s <= time.time()
    assert len(folder.names("read")) == 1
    assert folder.pictures.problem == ""


def test_a_file_from_the_future_is_old_for_gates(folder: Folder) -> None:
    folder.add("a.jpg", changed_s=time.time() + 3600)  # a clock was set back since
    [frame] = folder.read()
    assert frame.steady_s is not None
    assert clocks.steady_s() - frame.steady_s > 3000


def test_files_that_stay_keep_no_others_back_and_are_told(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_pictures, "MAX_FILES", 2)
    (folder.top / "read").symlink_to(folder.top)  # nothing can be moved there
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        folder.add(name)
    assert len(folder.read() + folder.read()) == 3
    folder.add("d.jpg")
    assert len(folder.read() + folder.read()) == 1
    assert re.search(r"/\w\.jpg cannot be moved: .*; 3 more", folder.stream.status.last_error)
    for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg"):
        (folder.top / name).unlink()
    folder.read()
    assert folder.stream.status.last_error == ""


def test_a_file_system_that_hangs_holds_up_nobody_else(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_pictures, "ANSWER_S", 0.05)
    answers = threading.Event()
    monkeypatch.setattr(folder_pictures.os, "fwalk", lambda *_, **__: answers.wait())

    async def ask() -> int:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        before = threading.active_count()
        for _ in range(3):
            folder.now_s += LATER_S
            with pytest.raises(ServerError, match=r"the folder has not answered for 0\.05 s"):
                await folder.pictures.take()
        assert threading.active_count() - before <= 1
        return await asyncio.wait_for(asyncio.to_thread(lambda: 1), 5)

    try:
        assert asyncio.run(ask()) == 1
    finally:
        answers.set()


def test_a_folder_that_is_missing_is_told(folder: Folder) -> None:
    folder.top = folder.top / "none"
    with pytest.raises(PlateError, match="cannot read the folder: No such file"):
        asyncio.run(FolderPictures(folder.top, "move").take())
