"""Large changes of lists: short transactions, complete editions, limits."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from orchestrator.errors import ParameterError
from plate_cameras.configuration import Camera
from plate_cameras.store.errors import ChangedMeanwhile
from plate_cameras.store.lists import list_editions, list_file, list_settings, plate_lists
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup
from plate_cameras.store.lists.plate_lists import PlateLists
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.schema import list_entries
from tests.plate_cameras.store.stored_events import REQUESTER, make_event

BATCH = 20
MANY = 3 * BATCH + 7


@pytest.fixture(autouse=True)
def _use_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (list_editions, plate_lists):
        monkeypatch.setattr(module, "BATCH", BATCH)


def texts(letter: str, count: int = MANY) -> list[str]:
    return [f"{letter}{at:04}77" for at in range(count)]


SOME = texts("B", BATCH)


def to_csv(entries: list[str]) -> str:
    return "\n".join(["text", *entries, ""])


def replace_by(lists: PlateLists, letter: str) -> None:
    lists.import_csv("residents", to_csv(texts(letter)), replacing=True)


@pytest.fixture
def listed_store(store: PassStore) -> PassStore:
    """Return a store with a long list."""
    store.lists.create("residents")
    replace_by(store.lists, "A")
    return store


def texts_of(store: PassStore) -> list[str]:
    return [entry.text for entry in store.lists.entries("residents", EVERYTHING)]


@contextmanager
def counted_rows() -> Iterator[list[int]]:
    """Yield the number of rows that each transaction has changed."""
    row_counts: Counter[int] = Counter()
    of_transactions: list[int] = []

    def count(connection: sa.Connection, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            row_counts[id(connection)] += max(cursor.rowcount, 0)

    def end(connection: sa.Connection) -> None:
        of_transactions.append(row_counts.pop(id(connection), 0))

    listeners: dict[str, Callable[..., None]] = {"after_cursor_execute": count, "commit": end}
    for name, listener in listeners.items():
        event.listen(sa.Engine, name, listener)
    try:
        yield of_transactions
    finally:
        for name, listener in listeners.items():
            event.remove(sa.Engine, name, listener)


@contextmanager
def interrupted(
    change: Callable[[], object], steps: int = 4, moment: str = "checkin"
) -> Iterator[None]:
    """Make a change after a number of database steps, or with `commit` before the last one is."""
    step = 0

    def end(*_: Any) -> None:
        nonlocal step
        step += 1
        if step == steps:
            step += 1
            change()

    target = sa.pool.Pool if moment == "checkin" else sa.Engine
    event.listen(target, moment, end)
    try:
        yield
    finally:
        event.remove(target, moment, end)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda lists: replace_by(lists, "B"), id="replace"),
        pytest.param(lambda lists: lists.import_csv("residents", to_csv(texts("B"))), id="add"),
        pytest.param(lambda lists: lists.put("residents", map(ListEntry, SOME)), id="put"),
        pytest.param(lambda lists: lists.import_csv("residents", to_csv(SOME)), id="add some"),
        pytest.param(lambda lists: lists.delete("residents"), id="delete"),
    ],
)
def test_each_transaction_changes_few_rows(
    listed_store: PassStore, change: Callable[[Any], object]
) -> None:
    with counted_rows() as of_transactions:
        change(listed_store.lists)
    assert sum(of_transactions) >= BATCH
    assert max(of_transactions) <= BATCH + 5  # the list itself, and the audit


def test_hits_of_a_deleted_list_go_in_short_transactions(store: PassStore) -> None:
    store.lists.create("residents")
    store.lists.put("residents", [ListEntry("A123BC77")])
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    store.write([make_event(str(at)) for at in range(2 * BATCH)], [])
    with counted_rows() as of_transactions:
        store.lists.delete("residents")
    assert sum(of_transactions) > 2 * BATCH
    assert max(of_transactions) <= BATCH + 5


@pytest.mark.parametrize("replacing", [True, False])
def test_readers_see_the_old_list_or_the_new_one(
    listed_store: PassStore, *, replacing: bool
) -> None:
    old, lookup = texts_of(listed_store), ListLookup()
    new = texts("B") if replacing else old + texts("B")
    editions: set[tuple[str, ...]] = set()
    is_over = Event()

    def look() -> None:
        while not is_over.is_set():
            listed_store.refresh(lookup)
            editions.update(tuple(plate_list.exact) for plate_list in lookup.named(["residents"]))
            editions.add(tuple(texts_of(listed_store)))

    reader = Thread(target=look)
    reader.start()
    listed_store.lists.import_csv("residents", to_csv(texts("B")), replacing=replacing)
    is_over.set()
    reader.join()
    assert editions <= {tuple(old), tuple(new)}
    assert texts_of(listed_store) == new


def test_an_import_that_fails_amid_changes_nothing(listed_store: PassStore) -> None:
    before = texts_of(listed_store)

    def fail() -> None:
        raise RuntimeError("killed")

    with interrupted(fail, moment="commit"), pytest.raises(RuntimeError):
        replace_by(listed_store.lists, "B")
    assert texts_of(listed_store) == before
    listed_store.lists.import_csv("residents", to_csv(["C000177"]), replacing=True)
    assert texts_of(listed_store) == ["C000177"]
    assert count_rows(listed_store) == 1


def count_rows(store: PassStore) -> int:
    with store.lists._database.reading() as connection:  # rows that no reader sees
        return connection.scalar(sa.select(sa.func.count()).select_from(list_entries)) or 0


def test_changes_during_an_import_count(listed_store: PassStore) -> None:
    new_entry, removed_text, erased_text = ListEntry("X000177"), "A000077", "A000177"

    def change() -> None:
        listed_store.lists.put("residents", [new_entry])
        listed_store.lists.remove("residents", removed_text)
        listed_store.delete_plate(erased_text, REQUESTER, entries=True)

    with interrupted(change):
        listed_store.lists.import_csv("residents", to_csv(texts("B")))
    kept_texts = [*texts("A")[2:], *texts("B"), new_entry.text]
    assert texts_of(listed_store) == kept_texts
    assert listed_store.lists.describe(EVERYTHING)[0].entries == len(kept_texts)


@pytest.mark.parametrize(
    ("change", "kept_texts"),
    [
        pytest.param(lambda lists: replace_by(lists, "C"), {"residents": texts("C")}, id="import"),
        pytest.param(lambda lists: lists.delete("residents"), {}, id="deletion"),
    ],
)
def test_an_import_into_a_list_that_is_replaced_or_deleted_ends(
    listed_store: PassStore,
    change: Callable[[PlateLists], object],
    kept_texts: dict[str, list[str]],
) -> None:
    with (
        interrupted(lambda: change(listed_store.lists)),
        pytest.raises(ChangedMeanwhile, match="nothing was imported"),
    ):
        replace_by(listed_store.lists, "B")
    assert {name: texts_of(listed_store) for name in listed_store.lists.names()} == kept_texts
    assert count_rows(listed_store) == sum(map(len, kept_texts.values()))


def test_a_deleted_plate_stands_in_no_edition(listed_store: PassStore) -> None:
    def fail() -> None:
        raise SystemExit("killed: it cannot clean up")

    with (
        interrupted(fail, 4, moment="commit"),
        interrupted(fail, 5, moment="commit"),
        pytest.raises(SystemExit),
    ):
        listed_store.lists.import_csv("residents", to_csv(["A000177", *texts("B")]), replacing=True)
    listed_store.delete_plate("A000177", REQUESTER, entries=True)
    with listed_store.lists._database.reading() as connection:
        statement = sa.select(list_entries).where(list_entries.c.text == "A000177")
        assert connection.execute(statement).all() == []


def test_an_import_during_an_export_is_told(listed_store: PassStore) -> None:
    parts = listed_store.lists.export_csv("residents", REQUESTER)
    assert next(parts).startswith("text,")
    replace_by(listed_store.lists, "B")
    with pytest.raises(ChangedMeanwhile, match="replaced"):
        list(parts)


def test_the_entries_of_a_list_have_an_upper_number(
    listed_store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_editions, "MAX_ENTRIES", MANY)
    for change in (
        lambda: listed_store.lists.put("residents", [ListEntry("B000177")]),
        lambda: listed_store.lists.import_csv("residents", to_csv(["B000177"])),
        lambda: listed_store.lists.import_csv("residents", to_csv(texts("B"))),
        lambda: listed_store.lists.import_csv(
            "residents", to_csv(texts("B", MANY + 1)), replacing=True
        ),
    ):
        with pytest.raises(ParameterError, match=f"entries: wanted at most {MANY} in a list, got"):
            change()
    listed_store.lists.put("residents", [ListEntry("A000177", "replaced")])
    assert texts_of(listed_store) == texts("A")
    assert count_rows(listed_store) == MANY


def test_lists_have_an_upper_number(store: PassStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_settings, "MAX_LISTS", 1)
    store.lists.save("residents", "", None)
    store.lists.save("residents", "house 5", None)
    for change in (store.lists.create, lambda name: store.lists.save(name, "", None)):
        with pytest.raises(ParameterError, match="lists: wanted at most 1, got one more"):
            change("guests")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        pytest.param("MAX_FILE_ROWS", "line 4: rows: wanted at most 2, got more", id="rows"),
        pytest.param("MAX_FILE_BYTES", "file: wanted at most 2 bytes, got 29", id="bytes"),
    ],
)
def test_a_file_has_upper_numbers(
    store: PassStore, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
) -> None:
    monkeypatch.setattr(list_file, limit, 2)
    store.lists.create("residents")
    with pytest.raises(ParameterError, match=message):
        store.lists.import_csv("residents", "text\nA000177\nA000177\nA000177\n")


def test_lists_are_read_without_the_lock_of_a_writer(store: PassStore) -> None:
    store.lists.create("residents")
    store.lists.put("residents", [ListEntry("A123BC77")])
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    locks: list[bool] = []

    def note(connection: sa.Connection, _: Any, statement: str, *__: Any) -> None:
        if "FROM lists JOIN list_entries" in statement and "ORDER BY" in statement:
            locks.append(connection.get_execution_options().get("begin") == "BEGIN IMMEDIATE")

    event.listen(sa.Engine, "after_cursor_execute", note)
    try:
        store.write([make_event("a")], [])
    finally:
        event.remove(sa.Engine, "after_cursor_execute", note)
    assert locks == [False]
    assert [hit.text for hit in store.get("a", REQUESTER).hits] == ["A123BC77"]
