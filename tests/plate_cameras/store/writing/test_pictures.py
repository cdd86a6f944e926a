"""Pictures in a folder and in S3."""

import errno
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orchestrator.errors import ExtraError, SettingsError
from plate_cameras.store.erasing.picture_removals import note_removals
from plate_cameras.store.errors import StoreUnavailable, UnknownName
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.durable_files import write_atomically, write_together
from plate_cameras.store.writing.picture_bucket import PictureBucket
from plate_cameras.store.writing.pictures import (
    PictureFolder,
    PictureStore,
    digest_of,
    open_pictures,
    put_all,
)
from tests.cli.archive.storage import open_s3, s3_server
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, make_event, with_pictures

JPEG = b"a picture"
DIGEST = digest_of(JPEG)


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.server)])
def pictures(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PictureStore]:
    if request.param == "folder":
        yield open_pictures(str(tmp_path / "pictures"))
        return
    with s3_server() as environ:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        open_s3(environ).create_dir("bucket")
        yield open_pictures("s3://bucket/cars", environ)


def test_a_picture_returns_until_it_is_removed(pictures: PictureStore) -> None:
    put_all(pictures, [JPEG, JPEG, b""])
    assert pictures.get(DIGEST) == JPEG

    pictures.remove_all([DIGEST])
    pictures.remove_all([DIGEST])
    with pytest.raises(UnknownName, match=DIGEST.hex()):
        pictures.get(DIGEST)


def test_a_picture_lies_in_two_levels_of_folders(tmp_path: Path) -> None:
    folder = PictureFolder(tmp_path / "pictures")
    put_all(folder, [JPEG])
    put_all(folder, [JPEG])

    name = DIGEST.hex()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / "pictures" / name[:2] / name[2:4] / f"{name}.jpg"]
    folder.remove(DIGEST)
    assert list((tmp_path / "pictures").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "pictures").touch()

    with pytest.raises(StoreUnavailable, match="cannot be written"):
        put_all(PictureFolder(tmp_path / "pictures"), [JPEG])


def test_a_bucket_without_a_name_is_told() -> None:
    with pytest.raises(SettingsError, match="s3://bucket/folder"):
        open_pictures("s3://")


def test_the_extra_that_s3_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)

    with pytest.raises(ExtraError, match=r"PyArrow: .* --group cameras --group s3$"):
        open_pictures("s3://bucket/cars")


class SilentStorage:
    """A storage whose calls wait until they are released."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        def hang(*_: object) -> NoReturn:
            self.release.wait(60)
            raise OSError("the connection was reset")

        return hang


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda pictures: put_all(pictures, [JPEG, b"another"]), id="put"),
        pytest.param(lambda pictures: pictures.get(DIGEST), id="get"),
        pytest.param(lambda pictures: pictures.remove_all([DIGEST]), id="remove"),
    ],
)
def test_a_storage_that_does_not_answer_counts_as_away(
    call: Callable[[PictureStore], object],
) -> None:
    storage = SilentStorage()
    with pytest.raises(StoreUnavailable, match="does not answer"):
        call(PictureBucket(storage, "bucket", limit_s=0.05))
    storage.release.set()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, None])
def test_errors_of_the_disk_are_those_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    pictures = PictureFolder(tmp_path / "pictures")
    put_all(pictures, [JPEG])

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, "the disk fails") if number else OSError("the disk fails")

    monkeypatch.setattr(Path, "open", fail)
    monkeypatch.setattr(Path, "stat", fail)
    monkeypatch.setattr(Path, "unlink", fail)
    with pytest.raises(StoreUnavailable, match="the disk fails"):
        pictures.get(DIGEST)
    with pytest.raises(StoreUnavailable, match="the disk fails"):
        pictures.remove_all([DIGEST])
    with pytest.raises(StoreUnavailable, match="the disk fails"):
        list(pictures.old(4e9))


def test_a_file_that_is_too_large_for_a_picture_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_all(PictureFolder(tmp_path), [JPEG])
    monkeypatch.setattr("plate_cameras.store.writing.pictures.MAX_PICTURE_BYTES", len(JPEG) - 1)

    with pytest.raises(StoreUnavailable, match="at most 8 bytes"):
        PictureFolder(tmp_path).get(DIGEST)


def test_a_picture_that_is_removed_before_its_pass_is_written_comes_back(
    store: PassStore, url: str, tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    other = opening(url, keep_frames=True, spool=tmp_path / "other", clock=lambda: NOW_S)
    store.write([make_event("a")], [])
    crop = store.get("a", REQUESTER).found_pass.crop or ""
    store.delete_plate("A123BC77", REQUESTER)

    class Removing:
        """A picture store whose files another process removes at once."""

        def __init__(self) -> None:
            self.puts = 0

        def put_all(self, jpegs: Any) -> None:
            self.puts += 1
            pictures.put_all(jpegs)
            if self.puts == 1:
                other.delete_expired(NOW_S)

    pictures, removing = store.writer.pictures, Removing()
    store.writer.pictures = removing  # type: ignore[assignment]
    with store.writer.database.writing() as connection:
        note_removals(connection, [bytes.fromhex(crop)])
    store.write([with_pictures(make_event("again", "B777BB77"), b"crop a")], [])

    assert removing.puts == 2
    assert store.picture(crop) == b"crop a"


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def list_files(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_no_files_make_no_folder(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    write_together({}, tmp_path / "root", threads)

    assert list_files(tmp_path) == []


def test_files_of_several_folders_are_written(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    root = tmp_path / "above" / "root"
    contents = {root / f"{number % 3}" / f"{number}": b"%d" % number for number in range(20)}
    write_together(contents, root, threads)

    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == contents


def test_an_error_leaves_no_part_of_a_file(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        write_together(
            {tmp_path / "a": b"first", tmp_path / "file" / "b": b"second"}, tmp_path, threads
        )

    assert list_files(tmp_path) == ["file"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"first")
    write_atomically(tmp_path / "a", b"second")

    assert (tmp_path / "a").read_bytes() == b"second"
    assert list_files(tmp_path) == ["a"]
