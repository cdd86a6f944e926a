"""The spool: the order of its events, its upper size, several watchers, and erasure."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_own_spool
from plate_cameras.store.tables.store_clock import Age
from plate_cameras.store.writing.addressed_events import AddressedEvent, encode
from plate_cameras.store.writing.spool import Spool, SpoolInUse
from tests.plate_cameras.store.stored_events import NOW_S, Kind, make_event

SIZE = len(encode(AddressedEvent(make_event("a", kind="updated"), (), NOW_S)))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with closing(Spool(tmp_path)) as own_spool:
        yield own_spool


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Return a stack that closes the spools of a test."""
    with ExitStack() as stack:
        yield stack


def event(pass_id: str, kind: Kind = "closed", text: str = "A123BC77") -> AddressedEvent:
    return AddressedEvent(make_event(pass_id, text, kind), (), NOW_S)


def ids(spool: Spool) -> list[str]:
    events = [spooled_file.event for spooled_file in spool.oldest(99)]
    return [f"{event.vehicle_pass.id} {event.kind}" for event in events]


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_another_process_goes_on_with_what_is_left(tmp_path: Path) -> None:
    first = Spool(tmp_path)
    first.put([event("a"), event("b")])
    first.discard([first.oldest(1)[0].file])
    first.close()
    (tmp_path / ".new-left").touch()
    (tmp_path / "notes.event").touch()  # of somebody else

    with closing(Spool(tmp_path)) as second:
        second.put([event("c")])
        assert ids(second) == ["b closed", "c closed"]
    assert len(files_in(tmp_path)) == 3


def test_a_process_that_waits_for_a_spool_sees_what_is_put_in_meanwhile(
    tmp_path: Path, stack: ExitStack
) -> None:
    first = stack.enter_context(closing(Spool(tmp_path / "all" / "spool")))
    first.put([event("a")])
    second = stack.enter_context(closing(Spool(first.folder)))
    assert len(second) == 1
    with pytest.raises(SpoolInUse, match="another process"):
        second.put([event("x")])
    first.put([event("b")])
    first.close()

    assert ids(second) == ["a closed", "b closed"]
    assert first.folder.stat().st_mode & 0o777 == 0o700


def test_a_full_spool_drops_the_oldest_updates(tmp_path: Path, stack: ExitStack) -> None:
    spool = stack.enter_context(closing(Spool(tmp_path, most_bytes=3 * SIZE + 9)))
    spool.put([event("a", "updated"), event("b", "agreed"), event("c", "updated")])
    spool.put([event("d")])
    spool.put([event("e")])

    assert len(list(tmp_path.glob("*.event"))) == 3
    assert ids(spool) == ["b agreed", "d closed", "e closed"]
    assert (spool.counts.spooled, spool.counts.dropped) == (5, 2)


@pytest.mark.parametrize("zones", [20, 500])
def test_updates_stay_where_all_of_them_would_not_make_room(
    tmp_path: Path, stack: ExitStack, zones: int
) -> None:
    spool = stack.enter_context(closing(Spool(tmp_path, most_bytes=2 * SIZE + 9)))
    spool.put([event("a", "updated"), event("b")])
    large = make_event("c", zones=tuple(f"zone {at}" for at in range(zones)))
    with pytest.raises(StoreUnavailable, match="full"):
        spool.put([AddressedEvent(large, (), NOW_S)])

    assert (ids(spool), spool.counts.dropped) == (["a updated", "b closed"], 0)


def test_names_never_repeat(tmp_path: Path) -> None:
    names = []
    for at in range(3):
        with closing(Spool(tmp_path)) as spool:
            spool.put([event(f"{at}")])
            (spooled_file,) = spool.oldest(9)
            names.append(spooled_file.file.name)
            spool.reject(spooled_file.file, "a test")

    assert files_in(tmp_path / "rejected") == names == sorted(names)
    assert len({int(name.partition("-")[0]) for name in names}) == 3


def test_a_rejected_file_of_an_earlier_version_is_not_overwritten(
    tmp_path: Path, stack: ExitStack
) -> None:
    (tmp_path / "rejected").mkdir()
    old = "0000000000000000-closed.event"
    (tmp_path / "rejected" / old).write_bytes(b"rejected before")
    (tmp_path / old).write_bytes(encode(event("a")))
    spool = stack.enter_context(closing(Spool(tmp_path)))
    spool.reject(spool.oldest(1)[0].file, "a test")

    contents = {file.read_bytes() for file in (tmp_path / "rejected").iterdir()}
    assert contents == {b"rejected before", encode(event("a"))}


def test_rejected_files_are_deleted_when_they_are_old_by_every_clock(
    spool: Spool, tmp_path: Path
) -> None:
    spool.put([event("a")])
    spool.reject(spool.oldest(1)[0].file, "a test")
    far_s = 4e9  # the wall clock says that all is old
    young = Age(1.0), Age(far_s, 100.0, 90.0), Age(far_s, 109.0, 99.0), Age(1.0, 200.0, 190.0)
    for age in young:
        spool.discard_rejected(age)
        assert len(files_in(tmp_path / "rejected")) == 1

    spool.discard_rejected(Age(far_s, 111.0, 101.0))
    assert files_in(tmp_path / "rejected") == []
    spool.put([event("b")])
    spool.reject(spool.oldest(1)[0].file, "a test")
    spool.discard_rejected(Age(far_s))  # there is one clock
    assert files_in(tmp_path / "rejected") == []


def test_an_update_that_another_process_has_erased_makes_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stack: ExitStack
) -> None:
    spool = stack.enter_context(closing(Spool(tmp_path, most_bytes=SIZE)))
    spool.put([event("a", "updated")])
    next(tmp_path.glob("*.event")).unlink()
    spool.put([event("b", "updated")])

    assert ids(spool) == ["b updated"]
    assert "the spool is full" in caplog.text


def test_an_event_that_another_process_has_erased_waits_no_more(
    spool: Spool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put([event("a"), event("b")])
    first, second = spool.oldest(2)
    first.file.unlink()
    spool.discard([first.file])
    second.file.unlink()

    assert (ids(spool), len(spool), spool.bytes, caplog.text) == ([], 0, 0, "")


def test_a_plate_is_erased_from_the_spools_of_all_watchers(
    tmp_path: Path, stack: ExitStack
) -> None:
    first, second = (
        stack.enter_context(closing(open_own_spool(tmp_path))) for _ in ("first", "second")
    )
    first.put([event("a"), event("b", text="A128BC77")])
    first.reject(first.oldest(1)[0].file, "a test")
    assert len(first) == 1
    (tmp_path / ".new-left").write_bytes(encode(event("c"))[:-9])
    second.put([event("d")])

    assert second.erase("A123BC77") == 3
    assert (ids(first), ids(second)) == (["b closed"], [])
    assert not list(tmp_path.rglob(".new-*"))


def test_another_vehicles_event_stays_though_a_frame_was_misread(spool: Spool) -> None:
    changes = {"observations": make_event("a", "A128BC77").vehicle_pass.observations}
    pass_events = make_event("a", **changes), make_event("b", "", **changes)
    spool.put([AddressedEvent(pass_event, (), NOW_S) for pass_event in pass_events])

    assert spool.erase("A128BC77") == 1
    assert ids(spool) == ["a closed"]


def test_a_plate_whose_event_is_replayed_meanwhile_is_erased_all_the_same(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_bytes = Path.read_bytes
    spool.put([event("a"), event("b")])

    def read_and_replay(file: Path) -> bytes:
        content = read_bytes(file)
        file.unlink()
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_replay)
    assert spool.erase("A123BC77") == 2


def test_each_process_gets_a_spool_of_its_own_and_that_with_events_first(
    tmp_path: Path, stack: ExitStack
) -> None:
    (tmp_path / "watcher-2").mkdir()
    with closing(Spool(tmp_path / "watcher-3")) as earlier_spool:
        earlier_spool.put([event("a")])

    spools = [stack.enter_context(closing(open_own_spool(tmp_path))) for _ in range(4)]
    names = [spool.folder.name for spool in spools]
    assert names == ["watcher-3", tmp_path.name, "watcher-2", "watcher-4"]
    assert [ids(spool) for spool in spools] == [["a closed"], [], [], []]


def test_a_spool_has_room_for_3500_events_with_their_pictures(tmp_path: Path) -> None:
    assert 3500 <= Spool(tmp_path).most_bytes / 0.3e6 < 3600
