"""Errors of the spool's disk and damaged files: no other event is lost."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_own_spool
from plate_cameras.store.writing import durable_files
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.spool import Spool, SpoolInUse
from tests.plate_cameras.store.stored_events import NOW_S, make_event
from tests.plate_cameras.store.writing.test_spool import SIZE, event, ids, spool

__all__ = ["spool"]


def fail_with(number: int) -> Callable[..., NoReturn]:
    """Return a function that raises an OSError with this number."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


def break_reading_of(file: Path, patch: pytest.MonkeyPatch) -> None:
    read_bytes = Path.read_bytes
    failing = fail_with(errno.EIO)
    patch.setattr(Path, "read_bytes", lambda path: failing() if path == file else read_bytes(path))


@pytest.mark.parametrize(
    "number",
    [errno.EMFILE, errno.ENFILE, errno.EROFS, errno.EIO, errno.EACCES, errno.ENOMEM],
)
def test_an_error_that_is_no_lack_of_room_deletes_nothing(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    spool.put([event("a", "updated"), event("b", "updated")])
    with monkeypatch.context() as patch:
        patch.setattr(durable_files.tempfile, "mkstemp", fail_with(number))
        patch.setattr(Path, "unlink", fail_with(number))
        for another in (event("c"), event("d", "updated")):
            with pytest.raises(StoreUnavailable, match="cannot be written"):
                spool.put([another])
    assert (ids(spool), spool.counts.dropped) == (["a updated", "b updated"], 0)
    assert spool.bytes == sum(file.stat().st_size for file in tmp_path.glob("*.event"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_without_room_drops_updates_and_no_other_events(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    spool.put([event("a", "updated"), event("b", "agreed")])
    monkeypatch.setattr(durable_files.tempfile, "mkstemp", fail_with(number))
    with pytest.raises(StoreUnavailable, match="full"):
        spool.put([event("c")])
    spool.put([event("d", "updated")])

    assert (ids(spool), spool.counts.dropped) == (["b agreed"], 2)


@pytest.mark.parametrize(
    ("place", "name", "message"),
    [
        pytest.param(Path, "unlink", "cannot be written", id="an update cannot be deleted"),
        pytest.param(shutil, "disk_usage", "cannot be used", id="the disk does not tell its room"),
    ],
)
def test_a_full_spool_that_cannot_make_room_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, message: str
) -> None:
    with closing(Spool(tmp_path, most_bytes=SIZE + 9)) as spool:
        spool.put([event("a", "updated")])
        monkeypatch.setattr(place, name, fail_with(errno.EROFS))
        with pytest.raises(StoreUnavailable, match=message):
            spool.put([event("b")])

        assert (ids(spool), spool.counts.dropped) == (["a updated"], 0)


def test_an_error_after_the_renaming_leaves_no_file(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.acquire()
    descriptors: list[int] = []

    def sync(descriptor: int) -> None:
        descriptors.append(descriptor)
        if len(descriptors) == 2:  # the folder's names
            raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        with pytest.raises(StoreUnavailable):
            spool.put([event("a")])
    assert (len(spool), list(tmp_path.glob("*.event"))) == (0, [])


def test_a_damaged_file_does_not_stop_the_others(spool: Spool, tmp_path: Path) -> None:
    spool.put([event("a"), event("b")])
    os.truncate(spool.oldest(1)[0].file, 10)

    assert (ids(spool), spool.counts.rejected, len(spool)) == (["b closed"], 1, 1)
    assert len(list((tmp_path / "rejected").iterdir())) == 1


def test_a_file_that_cannot_be_read_is_put_aside(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a"), event("b")])
    first = spool.oldest(1)[0].file
    break_reading_of(first, monkeypatch)

    assert (ids(spool), spool.counts.rejected) == (["b closed"], 1)
    assert [file.name for file in (tmp_path / "rejected").iterdir()] == [first.name]
    assert f"{first.name}: the event is put aside" in caplog.text


@pytest.mark.parametrize("method", ["read_bytes", "rename"])
def test_a_process_without_descriptors_puts_nothing_aside(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    spool.put([event("a")])
    monkeypatch.setattr(Path, method, fail_with(errno.EMFILE))
    monkeypatch.setattr(Path, "read_bytes", fail_with(errno.EMFILE))
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        spool.oldest(9)

    assert len(spool) == 1


def test_a_file_that_cannot_be_deleted_is_not_replayed_again(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a"), event("b")])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail_with(errno.EROFS))
        spool.discard([spool.oldest(1)[0].file])
        spool.discard([])
        assert ids(spool) == ["b closed"]
    assert caplog.text.count("cannot be deleted") == 1
    assert len(list(tmp_path.glob("*.event"))) == 2
    spool.discard([])
    assert len(list(tmp_path.glob("*.event"))) == 1
    monkeypatch.setattr(Path, "unlink", pytest.fail)  # nothing is left to delete
    spool.discard([])


def test_a_file_that_cannot_be_put_aside_stops_no_other(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a"), event("b")])
    monkeypatch.setattr(Path, "rename", fail_with(errno.EROFS))
    first = spool.oldest(1)[0].file
    spool.reject(first, "a test")

    assert (ids(spool), spool.counts.rejected) == (["b closed"], 1)
    assert f"{first.name}: the event is put aside in rejected: a test" in caplog.text
    assert caplog.text.count("cannot be put aside") == 1


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.ENOENT])
def test_a_folder_that_cannot_be_opened_is_not_said_to_be_in_use(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "open", fail_with(number))
    with pytest.raises(StoreUnavailable, match="cannot be used") as caught:
        spool.put([event("a")])

    assert not isinstance(caught.value, SpoolInUse)


def test_a_folder_that_cannot_be_made_or_searched_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spool").touch()
    with pytest.raises(StoreUnavailable, match="the spool cannot be used"):
        Spool(tmp_path / "spool")
    monkeypatch.setattr(Path, "glob", fail_with(errno.EIO))
    with pytest.raises(StoreUnavailable, match="the spool cannot be used"):
        open_own_spool(tmp_path)


def test_an_event_that_no_file_can_hold_is_told_and_left_out(
    spool: Spool, caplog: pytest.LogCaptureFixture
) -> None:
    unwritable = AddressedEvent(make_event("a", zones=({1, 2},)), (), NOW_S)
    spool.put([unwritable, event("b")])

    assert (ids(spool), spool.counts.rejected) == (["b closed"], 1)
    assert f"{unwritable.id}: the event cannot be kept" in caplog.text


def test_an_erasure_tells_what_it_cannot_read_or_delete_and_goes_on(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.put([event("a"), event("b")])
    with monkeypatch.context() as patch:
        break_reading_of(spool.oldest(1)[0].file, patch)
        with pytest.raises(StoreUnavailable, match="searched"):
            spool.erase("A123BC77")
    assert ids(spool) == ["a closed"]
    monkeypatch.setattr(Path, "unlink", fail_with(errno.EROFS))
    with pytest.raises(StoreUnavailable, match="the spool cannot be searched"):
        spool.erase("A123BC77")
