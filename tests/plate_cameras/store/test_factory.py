"""Spools of several watchers on one machine."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_own_spool
from plate_cameras.store.writing.addressed_events import AddressedEvent
from plate_cameras.store.writing.spool import Spool
from tests.plate_cameras.store.stored_events import NOW_S, make_event

EVENT = AddressedEvent(make_event("a"), (), NOW_S)


def test_each_process_gets_a_spool_of_its_own(tmp_path: Path) -> None:
    first, second = open_own_spool(tmp_path), open_own_spool(tmp_path)
    assert (first.folder, second.folder) == (tmp_path, tmp_path / "watcher-2")
    second.put([EVENT])
    second.close()

    again = open_own_spool(tmp_path)
    assert [one.event for one in again.oldest(9)] == [EVENT]
    assert first.erase("A123BC77") == 1
    first.close()
    again.close()


def test_a_spool_with_events_comes_before_those_without(tmp_path: Path) -> None:
    (tmp_path / "watcher-2").mkdir()
    left = Spool(tmp_path / "watcher-3")
    left.put([EVENT])
    left.close()

    opened = [open_own_spool(tmp_path) for _ in range(3)]
    names = [one.folder.name for one in opened]
    assert names == ["watcher-3", tmp_path.name, "watcher-2"]
    assert [len(one) for one in opened] == [1, 0, 0]
    for one in opened:
        one.close()


def test_a_folder_that_cannot_be_searched_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Iterator[Path]:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(Path, "glob", fail)
    with pytest.raises(StoreUnavailable, match="the spool cannot be used"):
        open_own_spool(tmp_path)
