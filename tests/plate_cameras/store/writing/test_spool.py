"""The spool, without a database."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_own_spool
from plate_cameras.store.tables.store_clock import Age
from plate_cameras.store.writing import durable_files
from plate_cameras.store.writing.addressed_events import AddressedEvent, encode
from plate_cameras.store.writing.spool import Spool, SpoolInUse
from tests.plate_cameras.store.stored_events import NOW_S, Kind, make_event

SIZE = len(encode(AddressedEvent(make_event("a", kind="updated"), (), NOW_S)))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with closing(Spool(tmp_path)) as opened:
        yield opened


def event(pass_id: str, kind: Kind = "closed", text: str = "A123BC77") -> AddressedEvent:
    return AddressedEvent(make_event(pass_id, text, kind), (), NOW_S)


def ids(spool: Spool) -> list[str]:
    return [f"{one.event.event.passed.id} {one.event.event.kind}" for one in spool.oldest(99)]


def test_another_process_goes_on_with_what_is_left(tmp_path: Path) -> None:
    first = Spool(tmp_path)
    first.put([event("a"), event("b")])
    first.discard([first.oldest(1)[0].file])
    first.close()
    (tmp_path / ".new-left").touch()

    second = Spool(tmp_path)
    second.put([event("c")])
    assert ids(second) == ["b closed", "c closed"]
    assert len(list(tmp_path.iterdir())) == 2
    second.close()


def test_two_processes_do_not_use_one_folder(tmp_path: Path) -> None:
    first, second = Spool(tmp_path), Spool(tmp_path)
    first.put([event("a")])

    with pytest.raises(StoreUnavailable, match="another process"):
        second.put([event("b")])
    first.close()


def test_a_full_spool_drops_the_oldest_updates(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most_bytes=3 * SIZE + 9)
    spool.put([event("a", "updated"), event("b", "agreed"), event("c", "updated")])
    spool.put([event("d")])
    spool.put([event("e")])

    assert len(list(tmp_path.glob("*.event"))) == 3
    assert ids(spool) == ["b agreed", "d closed", "e closed"]
    assert (spool.counts.spooled, spool.counts.dropped) == (5, 2)
    spool.close()


def test_a_damaged_file_does_not_stop_the_others(spool: Spool, tmp_path: Path) -> None:
    spool.put([event("a"), event("b")])
    os.truncate(spool.oldest(1)[0].file, 10)

    assert ids(spool) == ["b closed"]
    assert (spool.counts.rejected, len(spool)) == (1, 1)
    assert len(list((tmp_path / "rejected").iterdir())) == 1


def test_another_vehicles_event_stays_though_a_frame_was_misread(spool: Spool) -> None:
    misread = make_event("a", "A128BC77").passed.observations
    changed = {"observations": misread}
    read = AddressedEvent(make_event("a", "A123BC77", **changed), (), NOW_S)
    unreadable = AddressedEvent(make_event("b", "", **changed), (), NOW_S)
    spool.put([read, unreadable])

    assert spool.erase("A128BC77") == 1
    assert ids(spool) == ["a closed"]


def fail_with(number: int) -> Callable[..., NoReturn]:
    """Return a function that raises an OSError with this number."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


NOT_FULL = (errno.EMFILE, errno.ENFILE, errno.EROFS, errno.EIO, errno.EACCES, errno.ENOMEM)


@pytest.mark.parametrize("number", NOT_FULL)
def test_an_error_that_is_no_lack_of_room_deletes_nothing(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    spool.put([event("a", "updated"), event("b", "updated")])
    with monkeypatch.context() as broken:
        broken.setattr(durable_files.tempfile, "mkstemp", fail_with(number))
        broken.setattr(Path, "unlink", fail_with(number))
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            spool.put([event("c")])
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            spool.put([event("d", "updated")])
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


@pytest.mark.parametrize("zones", [20, 500])
def test_updates_stay_where_all_of_them_would_not_make_room(tmp_path: Path, zones: int) -> None:
    spool = Spool(tmp_path, most_bytes=2 * SIZE + 9)
    spool.put([event("a", "updated"), event("b")])
    large = make_event("c", zones=tuple(f"zone {at}" for at in range(zones)))
    with pytest.raises(StoreUnavailable, match="full"):
        spool.put([AddressedEvent(large, (), NOW_S)])

    assert (ids(spool), spool.counts.dropped) == (["a updated", "b closed"], 0)
    spool.close()


def test_an_error_after_the_renaming_leaves_no_file(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.acquire()
    synced: list[int] = []

    def sync(opened: int) -> None:
        synced.append(opened)
        if len(synced) == 2:  # the folder's names
            raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", sync)
        with pytest.raises(StoreUnavailable):
            spool.put([event("a")])
    assert (len(spool), list(tmp_path.glob("*.event"))) == (0, [])


def test_names_never_repeat(tmp_path: Path) -> None:
    names = []
    for at in range(3):
        spool = Spool(tmp_path)
        spool.put([event(f"{at}")])
        (one,) = spool.oldest(9)
        names.append(one.file.name)
        spool.reject(one.file, "a test")
        spool.close()

    assert sorted(names) == names
    assert sorted(file.name for file in (tmp_path / "rejected").iterdir()) == names
    numbers = {int(name.partition("-")[0]) for name in names}
    assert len(numbers) == 3


def test_a_rejected_file_of_an_earlier_version_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "rejected").mkdir()
    old = "0000000000000000-closed.event"
    (tmp_path / "rejected" / old).write_bytes(b"rejected before")
    (tmp_path / old).write_bytes(encode(event("a")))
    spool = Spool(tmp_path)
    spool.reject(spool.oldest(1)[0].file, "a test")

    kept = sorted(file.read_bytes() for file in (tmp_path / "rejected").iterdir())
    assert kept == sorted([b"rejected before", encode(event("a"))])
    spool.close()


def test_a_file_that_cannot_be_deleted_is_not_replayed_again(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.put([event("a"), event("b")])
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", fail_with(errno.EROFS))
        spool.discard([spool.oldest(1)[0].file])
        assert ids(spool) == ["b closed"]
    assert len(list(tmp_path.glob("*.event"))) == 2
    spool.discard([])
    assert len(list(tmp_path.glob("*.event"))) == 1
    monkeypatch.setattr(Path, "unlink", pytest.fail)  # nothing is left to delete
    spool.discard([])


def test_a_file_that_cannot_be_put_aside_stops_no_other(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.put([event("a"), event("b")])
    monkeypatch.setattr(Path, "rename", fail_with(errno.EROFS))
    spool.reject(spool.oldest(1)[0].file, "a test")

    assert (ids(spool), spool.counts.rejected) == (["b closed"], 1)


def test_a_file_that_cannot_be_read_is_put_aside(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a"), event("b")])
    first, read = spool.oldest(1)[0].file, Path.read_bytes

    def read_some(file: Path) -> bytes:
        return fail_with(errno.EIO)() if file == first else read(file)

    monkeypatch.setattr(Path, "read_bytes", read_some)
    assert (ids(spool), spool.counts.rejected) == (["b closed"], 1)
    assert [one.name for one in (tmp_path / "rejected").iterdir()] == [first.name]
    assert f"{first.name}: the event is put aside" in caplog.text


@pytest.mark.parametrize(
    "broken", [pytest.param("read_bytes", id="read"), pytest.param("rename", id="put aside")]
)
def test_a_process_without_descriptors_puts_nothing_aside(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    spool.put([event("a")])
    monkeypatch.setattr(Path, broken, fail_with(errno.EMFILE))
    monkeypatch.setattr(Path, "read_bytes", fail_with(errno.EMFILE))
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        spool.oldest(9)

    assert len(spool) == 1


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.ENOENT])
def test_a_folder_that_cannot_be_opened_is_not_said_to_be_in_use(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "open", fail_with(number))
    with pytest.raises(StoreUnavailable, match="cannot be used") as raised:
        spool.put([event("a")])

    assert not isinstance(raised.value, SpoolInUse)


def test_an_event_that_no_file_can_hold_is_told_and_left_out(
    spool: Spool, caplog: pytest.LogCaptureFixture
) -> None:
    unwritable = AddressedEvent(make_event("a", zones=({1, 2},)), (), NOW_S)
    spool.put([unwritable, event("b")])

    assert (ids(spool), spool.counts.rejected) == (["b closed"], 1)
    assert f"{unwritable.id}: the event cannot be kept" in caplog.text


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.event").touch()
    spool = Spool(tmp_path)

    assert len(spool) == 0
    spool.close()


def test_a_plate_is_erased_from_the_spools_of_all_watchers(tmp_path: Path) -> None:
    first, second = open_own_spool(tmp_path), open_own_spool(tmp_path)
    first.put([event("a"), event("b", text="A128BC77")])
    first.reject(first.oldest(1)[0].file, "a test")
    assert len(first) == 1
    (tmp_path / ".new-left").write_bytes(encode(event("c"))[:-9])

    assert second.erase("A123BC77") == 2
    assert ids(first) == ["b closed"]
    assert not list(tmp_path.rglob(".new-*"))
    first.close()
    second.close()


def test_an_erasure_goes_on_after_a_file_that_cannot_be_read(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.put([event("a"), event("b")])
    first, read = spool.oldest(1)[0].file, Path.read_bytes

    def read_some(file: Path) -> bytes:
        return fail_with(errno.EIO)() if file == first else read(file)

    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_bytes", read_some)
        with pytest.raises(StoreUnavailable, match="searched"):
            spool.erase("A123BC77")
    assert ids(spool) == ["a closed"]


def test_rejected_files_are_deleted_when_they_are_old_by_both_clocks(
    spool: Spool, tmp_path: Path
) -> None:
    spool.put([event("a")])
    spool.reject(spool.oldest(1)[0].file, "a test")
    far_s = 4e9  # the wall clock says that all is old

    spool.discard_rejected(Age(far_s, 100.0, 90.0))
    spool.discard_rejected(Age(far_s, 109.0, 99.0))
    assert len(list((tmp_path / "rejected").iterdir())) == 1
    spool.discard_rejected(Age(1.0, 200.0, 190.0))
    assert len(list((tmp_path / "rejected").iterdir())) == 1
    spool.discard_rejected(Age(far_s, 111.0, 101.0))
    assert list((tmp_path / "rejected").iterdir()) == []


def test_rejected_files_are_deleted_by_one_clock_where_there_is_one(
    spool: Spool, tmp_path: Path
) -> None:
    spool.put([event("a")])
    spool.reject(spool.oldest(1)[0].file, "a test")

    spool.discard_rejected(Age(1.0))
    assert len(list((tmp_path / "rejected").iterdir())) == 1
    spool.discard_rejected(Age(4e9))
    assert list((tmp_path / "rejected").iterdir()) == []


def test_nobody_else_may_read_the_folder(tmp_path: Path) -> None:
    assert Spool(tmp_path / "all" / "spool").folder.stat().st_mode & 0o777 == 0o700


def test_a_file_that_another_process_erases_waits_no_more(spool: Spool, tmp_path: Path) -> None:
    spool.put([event("a")])
    next(tmp_path.glob("*.event")).unlink()

    assert (ids(spool), len(spool), spool.bytes) == ([], 0, 0)


def test_an_update_that_cannot_be_deleted_makes_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path, most_bytes=SIZE + 9)
    spool.put([event("a", "updated")])
    with monkeypatch.context() as broken:
        broken.setattr(Path, "unlink", fail_with(errno.EROFS))
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            spool.put([event("b")])

    assert (ids(spool), spool.counts.dropped) == (["a updated"], 0)
    spool.close()


def test_what_cannot_be_deleted_or_put_aside_is_logged_once(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a"), event("b")])
    first, second = (one.file for one in spool.oldest(2))
    monkeypatch.setattr(Path, "unlink", fail_with(errno.EROFS))
    monkeypatch.setattr(Path, "rename", fail_with(errno.EROFS))
    for files in ([first], [], []):
        spool.discard(files)
    spool.reject(second, "a test")

    told = [record.message for record in caplog.records if "cannot be" in record.message]
    assert [one.split(": ")[1] for one in told] == ["cannot be deleted", "cannot be put aside"]
    assert f"{second.name}: the event is put aside in rejected: a test" in caplog.text


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "spool").touch()
    with pytest.raises(StoreUnavailable, match="the spool cannot be used"):
        Spool(tmp_path / "spool")


def test_a_process_that_has_to_wait_for_a_spool_sees_what_is_put_in_meanwhile(
    tmp_path: Path,
) -> None:
    first = Spool(tmp_path)
    first.put([event("a")])
    second = Spool(tmp_path)
    assert len(second) == 1
    with pytest.raises(SpoolInUse):
        second.oldest(9)
    first.put([event("b")])
    first.close()

    assert ids(second) == ["a closed", "b closed"]
    second.close()


def test_a_spool_has_room_for_3500_events_with_their_pictures(tmp_path: Path) -> None:
    assert 3500 <= Spool(tmp_path).most_bytes / 0.3e6 < 3600


def test_an_update_that_another_process_has_erased_makes_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool = Spool(tmp_path, most_bytes=SIZE)
    spool.put([event("a", "updated")])
    next(tmp_path.glob("*.event")).unlink()
    spool.put([event("b", "updated")])

    assert ids(spool) == ["b updated"]
    assert "the spool is full" in caplog.text
    spool.close()


def test_a_full_spool_whose_disk_tells_no_room_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path, most_bytes=SIZE)
    spool.put([event("a", "updated")])
    monkeypatch.setattr(shutil, "disk_usage", fail_with(errno.EIO))
    with pytest.raises(StoreUnavailable, match="the spool cannot be used"):
        spool.put([event("b", "updated")])

    assert ids(spool) == ["a updated"]
    spool.close()


def test_a_plate_whose_event_is_replayed_meanwhile_is_erased_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, read = Spool(tmp_path), Path.read_bytes
    spool.put([event("a"), event("b")])

    def read_and_replay(file: Path) -> bytes:
        content = read(file)
        file.unlink()
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_replay)
    assert spool.erase("A123BC77") == 2
    spool.close()


def test_a_plate_whose_file_cannot_be_deleted_is_told(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.put([event("a")])
    monkeypatch.setattr(Path, "unlink", fail_with(errno.EROFS))
    with pytest.raises(StoreUnavailable, match="the spool cannot be searched"):
        spool.erase("A123BC77")


def test_an_event_that_another_process_has_erased_is_discarded_in_silence(
    spool: Spool, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a")])
    (one,) = spool.oldest(1)
    one.file.unlink()
    spool.discard([one.file])

    assert (len(spool), caplog.text) == (0, "")
