"""A file of SQLite that is replaced or deleted while connections to it are open."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.store.stored_events import find_ids, make_event

TEXT = "A123BC77"


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def file(tmp_path: Path, url: str) -> Path:
    return tmp_path / "passes.db"


def back_up(file: Path) -> Path:
    backup = file.with_name("backup.db")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    return backup


def put(new_file: Path, file: Path) -> None:
    new_file.replace(file)
    for end in ("-wal", "-shm"):
        Path(f"{file}{end}").unlink(missing_ok=True)


def test_a_restored_file_is_read_and_written_from_the_next_step_on(
    store: PassStore, opening: Callable[..., PassStore], url: str, file: Path
) -> None:
    store.write([make_event("a")], [])
    backup = back_up(file)
    store.write([make_event("b")], [])
    put(backup, file)
    assert find_ids(store, PassQuery()) == ["a"]
    store.write([make_event("c")], [])
    assert sorted(find_ids(opening(url), PassQuery())) == ["a", "c"]


def test_gates_have_the_lists_of_a_restored_file(store: PassStore, file: Path) -> None:
    store.lists.create("residents")
    backup = back_up(file)
    store.lists.put("residents", [ListEntry(TEXT)])
    lookup = ListLookup()
    store.refresh(lookup)
    put(backup, file)
    store.refresh(lookup)
    assert [loaded_list.match(TEXT, 0.0) for loaded_list in lookup.all] == [None]


def test_while_the_file_is_gone_nothing_is_lost_and_no_other_is_made(
    store: PassStore, file: Path
) -> None:
    store.write([make_event("a")], [])
    away = file.rename(file.with_name("away.db"))
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"passes\.db is gone"):
            find_ids(store, PassQuery())
    store.write([make_event("b")], [])
    assert not file.exists()
    assert len(store.writer.spool) == 1

    away.rename(file)
    store.writer.monotonic = lambda: 1e12
    store.write([make_event("c")], [])
    assert sorted(find_ids(store, PassQuery())) == ["a", "b", "c"]
