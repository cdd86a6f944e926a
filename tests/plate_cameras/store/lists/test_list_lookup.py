"""Lists in memory, compared with the database that another process changes."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plate_cameras.configuration import Camera, Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup, LoadedList
from plate_cameras.store.lists.plate_lists import PlateLists
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import METADATA
from tests.fuzzing.profiles import quick
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER

NAMES, TEXTS = ("residents", "guests"), ("A123BC77", "M456OP199")
Change = Callable[[PassStore], object]


def change_if_there_is(change: Callable[[PlateLists], object], name: str) -> Change:
    """Return a change of a list that does nothing if the list does not exist."""
    return lambda store: name in store.lists.names() and change(store.lists)


def create(name: str) -> Change:
    return lambda store: name in store.lists.names() or store.lists.create(name)


def delete(name: str) -> Change:
    return change_if_there_is(lambda lists: lists.delete(name), name)


def put(name: str, entry: ListEntry) -> Change:
    return change_if_there_is(lambda lists: lists.put(name, [entry]), name)


def remove(name: str, text: str) -> Change:
    return change_if_there_is(lambda lists: lists.remove(name, text), name)


def replace_all(name: str, texts: list[str]) -> Change:
    file = "\n".join(["text", *texts])
    return change_if_there_is(lambda lists: lists.import_csv(name, file, replacing=True), name)


def save(name: str, note: str) -> Change:
    return lambda store: store.lists.save(name, note, None)


def make_again(name: str, texts: list[str]) -> Change:
    """Return a change that deletes a list, and creates it again from a new file."""
    steps = [delete(name), create(name), replace_all(name, texts)]
    return lambda store: [step(store) for step in steps]


def erase(text: str) -> Change:
    return lambda store: store.delete_plate(text, REQUESTER, entries=True)


def refresh(lookup: ListLookup) -> Change:
    return lambda store: store.refresh(lookup)


names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)
times = st.none() | st.sampled_from([NOW_S - 1, NOW_S, NOW_S + 1])
entries = st.builds(
    ListEntry,
    texts,
    st.sampled_from(["", "flat 4"]),
    valid_from_s=times,
    valid_until_s=times,
    edits=st.integers(0, 2),
)
changes = (
    st.builds(create, names)
    | st.builds(delete, names)
    | st.builds(make_again, names, st.lists(texts, min_size=1, max_size=2))
    | st.builds(put, names, entries)
    | st.builds(remove, names, texts)
    | st.builds(replace_all, names, st.lists(texts, max_size=2))
    | st.builds(save, names, st.sampled_from(["", "for the gate"]))
    | st.builds(erase, texts)
)


@pytest.fixture(scope="module")
def made_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lists")
    open_store(Store(), folder).close()
    return folder / "passes.db"


def open_copy(template: Path, folder: Path) -> PassStore:
    shutil.copy(template, folder / "passes.db")
    store = open_store(Store(), folder, clock=lambda: NOW_S)
    store.configure([Camera("gate", "rtsp://gate", lists=NAMES)])
    return store


def state_of(lookup: ListLookup) -> dict[str, dict[str, ListEntry]]:
    return {one.name: one.exact for one in lookup.named(NAMES)}


def stored_entries(store: PassStore) -> dict[str, dict[str, ListEntry]]:
    names = store.lists.names()
    return {
        name: {entry.text: entry for entry in store.lists.entries(name, EVERYTHING)}
        for name in names
    }


@settings(quick, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(st.lists(changes, max_size=4), max_size=5))
def test_after_any_changes_the_lists_in_memory_are_those_of_the_database(
    made_tables: Path, steps: list[list[Change]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = open_copy(made_tables, Path(folder))
        kept = ListLookup()
        for changed in steps:
            for change in changed:
                change(store)
            store.refresh(kept)
            assert state_of(kept) == stored_entries(store)
        store.close()


def test_a_list_of_a_restored_backup_is_read_again(tmp_path: Path) -> None:
    """The backup has the same list, and the same number of changes as the lost database."""
    store = open_store(Store(), tmp_path)
    store.lists.create("residents")
    backup = tmp_path / "backup"
    store.close()
    backup.mkdir()
    for file in tmp_path.glob("passes.db*"):
        shutil.copy(file, backup)

    lookup = ListLookup()
    lost, restored = open_store(Store(), tmp_path), open_store(Store(), backup)
    lost.lists.put("residents", [ListEntry("A123BC77")])
    lost.refresh(lookup)
    restored.lists.put("residents", [ListEntry("M456OP199")])
    restored.refresh(lookup)
    (loaded,) = lookup.named(["residents"])
    assert [*loaded.exact] == ["M456OP199"]
    lost.close()
    restored.close()


def test_an_error_leaves_the_lists_as_they_were(store: PassStore) -> None:
    lookup = ListLookup()
    store.lists.create("residents")
    store.refresh(lookup)
    before = lookup.revisions
    broken = sa.create_engine("sqlite://").connect()
    with pytest.raises(sa.exc.OperationalError):
        lookup.refresh(broken)
    broken.close()
    assert lookup.revisions == before


@pytest.mark.parametrize(
    ("entries", "text", "hit"),
    [
        pytest.param([], "A123BC77", None, id="empty"),
        pytest.param([ListEntry("A123BC77", edits=2)], "A123BC77", ("A123BC77", 0), id="same"),
        pytest.param([ListEntry("A123BC77", edits=1)], "A128BC77", ("A123BC77", 1), id="one-edit"),
        pytest.param([ListEntry("A123BC77", edits=1)], "A128BM77", None, id="two-edits"),
        pytest.param(
            [ListEntry("A128BM77", edits=2), ListEntry("A128BC77", edits=1)],
            "A123BC77",
            ("A128BC77", 1),
            id="the-nearest",
        ),
        pytest.param(
            [ListEntry("A128BC77", edits=1), ListEntry("A124BC77", edits=1)],
            "A123BC77",
            ("A128BC77", 1),
            id="the-first-of-two-as-near",
        ),
        pytest.param(
            [ListEntry("A123BC77", valid_until_s=NOW_S), ListEntry("A128BC77", edits=1)],
            "A123BC77",
            ("A128BC77", 1),
            id="the-same-text-is-not-valid",
        ),
        pytest.param(
            [ListEntry("A128BC77", edits=1, valid_from_s=NOW_S + 1)],
            "A123BC77",
            None,
            id="the-similar-one-is-not-valid-yet",
        ),
    ],
)
def test_a_text_matches_the_nearest_valid_entry(
    entries: list[ListEntry], text: str, hit: tuple[str, int] | None
) -> None:
    exact = {entry.text: entry for entry in entries}
    loaded = LoadedList(1, "residents", 1, exact, tuple(entry for entry in entries if entry.edits))
    found = loaded.match(text, NOW_S)
    assert (found and (found.entry.text, found.edits)) == hit


def test_no_table_of_sqlite_gives_a_number_twice(tmp_path: Path) -> None:
    store = open_store(Store(), tmp_path)
    store.close()
    database = Database(f"sqlite:///{tmp_path / 'passes.db'}")
    with database.reading() as connection:
        found = connection.exec_driver_sql("SELECT name, sql FROM sqlite_schema").all()
    database.close()
    created = {row.name: row.sql for row in found}
    by_database = {
        table.name
        for table in METADATA.sorted_tables
        if [column.name for column in table.primary_key] in (["number"], ["id"])
        and table.primary_key.columns[0].type.python_type is int
    }
    by_database -= {"picture_rounds"}  # it has one row
    assert {"passes", "lists", "deliveries", "searches", "gate_openings"} <= by_database
    assert [name for name in by_database if "AUTOINCREMENT" not in created[name]] == []
