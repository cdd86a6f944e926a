"""The spool, without a database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.cameras.store.addressed_events import AddressedEvent
from orchestrator.cameras.store.errors import StoreUnavailable
from orchestrator.cameras.store.event_codec import encode
from orchestrator.cameras.store.spool import Spool, open_own_spool
from tests.cameras.store.stored_events import NOW_S, Kind, make_event

SIZE = len(encode(AddressedEvent(make_event("a", kind="updated"), (), NOW_S)))


def event(pass_id: str, kind: Kind = "closed", text: str = "A123BC77") -> AddressedEvent:
    return AddressedEvent(make_event(pass_id, text, kind), (), NOW_S)


def ids(spool: Spool) -> list[str]:
    return [f"{one.event.event.passed.id} {one.event.event.kind}" for one in spool.oldest(99)]


def test_events_keep_their_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.put([event("b"), event("a", "agreed")])
    spool.put([event("c")])

    assert ids(spool) == ["b closed", "a agreed", "c closed"]
    spool.close()


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

    assert ids(spool) == ["b agreed", "d closed", "e closed"]
    assert spool.counts.dropped == 2
    spool.close()


def test_a_full_spool_without_updates_takes_all_or_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most_bytes=3 * SIZE + 9)
    spool.put([event("a"), event("b")])

    with pytest.raises(StoreUnavailable, match="full"):
        spool.put([event("c"), event("d")])
    assert ids(spool) == ["a closed", "b closed"]
    assert spool.bytes <= 3 * SIZE + 9
    spool.close()


def test_an_update_that_finds_no_room_is_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most_bytes=SIZE + 9)
    spool.put([event("a")])
    spool.put([event("b", "updated")])

    assert (ids(spool), spool.counts.dropped) == (["a closed"], 1)
    spool.close()


def test_a_damaged_file_does_not_stop_the_others(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put([event("a"), event("b")])
    os.truncate(spool.oldest(1)[0].file, 10)

    assert ids(spool) == ["b closed"]
    assert spool.counts.rejected == 1
    assert len(list((tmp_path / "rejected").iterdir())) == 1
    spool.close()


def test_another_vehicles_event_stays_though_a_frame_was_misread(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    misread = make_event("a", "A128BC77").passed.observations
    changed = {"observations": misread}
    read = AddressedEvent(make_event("a", "A123BC77", **changed), (), NOW_S)
    unreadable = AddressedEvent(make_event("b", "", **changed), (), NOW_S)
    spool.put([read, unreadable])

    assert spool.erase("A128BC77") == 1
    assert ids(spool) == ["a closed"]
    spool.close()


def test_a_plate_is_erased(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put([event("a"), event("b", text="A128BC77")])

    assert spool.erase("A123BC77") == 1
    assert ids(spool) == ["b closed"]
    spool.close()


def test_each_process_gets_a_spool_of_its_own(tmp_path: Path) -> None:
    first, second = open_own_spool(tmp_path), open_own_spool(tmp_path)
    assert (first.folder, second.folder) == (tmp_path, tmp_path / "watcher-2")
    second.put([event("a")])
    second.close()

    again = open_own_spool(tmp_path)
    assert ids(again) == ["a closed"]
    assert first.erase("A123BC77") == 1
    first.close()
    again.close()
