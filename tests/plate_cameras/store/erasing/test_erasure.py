"""After an erasure, no row and no byte of a file contains the plate."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.passes import PassEvent
from plate_cameras.store.erasing import picture_removals, remains
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.openings.gate_openings import GateOpening, to_line
from plate_cameras.store.openings.opening_log import FILE, REJECTED
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import erasures, gate_openings, passes, searches
from plate_cameras.store.writing.addressed_events import address
from plate_cameras.store.writing.live_tables import Still
from tests.plate_cameras.store.erasing.spread_plate import (
    CYRILLIC,
    GRAM,
    MISREAD,
    OTHER,
    OTHERS,
    PICTURE,
    REQUESTER,
    STATES,
    TEXT,
    WRITTEN,
    events_of_the_plate,
    fill,
    fill_folders,
    make_misread,
    places_of,
)
from tests.plate_cameras.store.postgresql_server import QuickPostgres
from tests.plate_cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    WEBHOOK,
    find_ids,
    make_event,
    read_column,
    read_rows,
)

DEAD_ROWS = """SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
AND (pgstattuple(oid)).dead_tuple_count > 0"""
"""Tables whose files have dead rows. PostgreSQL's own counts come late and are estimates."""


def test_no_file_holds_a_deleted_plate(store: PassStore, tmp_path: Path, url: str) -> None:
    fill(store)
    fill_folders(store)
    is_sqlite = url.startswith("sqlite")
    places = {"pictures", "spool", *(["passes.db"] if is_sqlite else [])}
    assert places_of(tmp_path, TEXT.encode(), PICTURE) >= places
    assert not is_sqlite or places_of(tmp_path, GRAM)

    counts = store.delete_plate(CYRILLIC, REQUESTER, entries=True)
    assert (counts.passes, counts.spooled, counts.entries, counts.openings) == (22, 2, 1, 1)
    assert store.live.write_states(STATES) == ["gate"]  # its watcher still has it
    assert places_of(tmp_path, GRAM, PICTURE, *WRITTEN) == set()


def test_other_vehicles_stay_when_a_plate_is_deleted(store: PassStore, database: Database) -> None:
    fill(store)
    store.delete_plate(TEXT, REQUESTER)
    assert store.lists.describe(EVERYTHING)[0].entries == 2
    store.delete_plate(TEXT, REQUESTER, entries=True)

    assert len(read_rows(database, passes.c.number)) == OTHERS + 3
    details = store.get("misread", REQUESTER)
    assert details.found_pass.candidates == ((MISREAD, 0.9),)
    assert [reading.text for reading in details.readings] == ["", MISREAD, MISREAD]
    assert sorted(find_ids(store, PassQuery(MISREAD))) == ["corrected", "misread"]
    assert store.get("listed", REQUESTER).hits[0].note == "second car of deleted"
    assert store.lists.describe(EVERYTHING)[0].note == "with deleted"
    deliveries = store.outbox.claim("webhook", 999, NOW_S, 60)
    documents = {delivery.id: delivery.document for delivery in deliveries}
    candidates = documents["misread_closed_0"]["data"]["candidates"]
    assert [candidate["text"] for candidate in candidates] == [MISREAD]
    early_pass = documents["corrected_agreed_0"]["data"]
    assert (early_pass["text"], early_pass["text_native"]) == ("", "")
    assert early_pass["candidates"][0]["text"].startswith("B")
    entries = read_rows(database, searches.c.number, searches.c.query, searches.c.why)[:5]
    assert [query for _, query, _ in entries] == [
        {"text": "deleted"},
        {"text": "deleted"},
        {"text": "Y9*"},
        {"parts": ["deleted"]},
        {},
    ]
    reasons = {"request of the owner of deleted", "the owner of deleted asks"}
    assert {why for *_, why in entries} == reasons
    texts = {name: state.document["last_text"] for name, state in store.live.states().items()}
    assert texts == {"gate": "", "yard": OTHER}


def test_no_file_holds_an_expired_plate(
    store: PassStore, tmp_path: Path, database: Database
) -> None:
    for event in events_of_the_plate():
        store.write([event], [WEBHOOK])
    store.search(PassQuery(TEXT), REQUESTER)
    fresh = [make_event(f"{at}", first_seen_s=NOW_S + 399 * DAY_S) for at in range(50)]
    store.write(fresh, [WEBHOOK])
    assert places_of(tmp_path, PICTURE)

    assert store.delete_expired(NOW_S + 400 * DAY_S).passes == 22
    assert places_of(tmp_path, TEXT.encode(), GRAM, PICTURE) == set()
    assert read_rows(database, searches.c.number) == []
    assert len(read_rows(database, passes.c.number)) == 50


@pytest.mark.server
def test_no_dump_and_no_statistics_hold_a_deleted_plate(
    server: QuickPostgres, opening: Callable[..., PassStore]
) -> None:
    url = server.create_database("erasure")
    statistics = "SELECT * FROM pg_stats WHERE schemaname = 'public'"
    store = opening(url, keep_frames=True, clock=lambda: NOW_S)
    fill(store)
    execute(url, "ANALYZE")
    assert TEXT in dump(server, url)
    assert TEXT in str(execute(url, statistics))

    store.delete_plate(TEXT, REQUESTER, entries=True)
    assert not [text for text in WRITTEN if text in dump(server, url).encode()]
    assert TEXT not in str(execute(url, statistics))
    execute(url, "CREATE EXTENSION pgstattuple")
    # Its end is noted after all else, in a row with a digest.
    assert execute(url, DEAD_ROWS) == [("erasures",)]

    # docs/privacy.md: the unused space within PostgreSQL's files.
    execute(url, "VACUUM FULL")
    execute(url, "CHECKPOINT")
    [(number,)] = execute(url, "SELECT oid FROM pg_database WHERE datname = current_database()")
    base = server.folder / "cluster" / "base" / str(number)
    assert places_of(base, OTHER.encode())
    assert places_of(base, TEXT.encode()) == set()


@pytest.mark.server
def test_a_deletion_ends_when_no_older_transaction_sees_its_rows(
    server: QuickPostgres, opening: Callable[..., PassStore]
) -> None:
    url = server.create_database("reader")
    store = opening(url, clock=lambda: NOW_S)
    store.write([make_event("a", TEXT)], [])
    engine = sa.create_engine(url, isolation_level="REPEATABLE READ")
    with engine.connect() as reader:
        assert reader.execute(sa.select(passes.c.text)).scalars().all() == [TEXT]
        store.delete_plate(TEXT, REQUESTER)
        assert execute(url, "SELECT is_done FROM erasures") == [(False,)]
        assert reader.execute(sa.select(passes.c.text)).scalars().all() == [TEXT]
    engine.dispose()
    execute(url, "CREATE EXTENSION pgstattuple")
    assert ("passes",) in execute(url, DEAD_ROWS)

    store.delete_expired(NOW_S)
    assert execute(url, "SELECT is_done FROM erasures") == [(True,)]
    assert execute(url, DEAD_ROWS) == [("erasures",)]


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = connection.exec_driver_sql(statement)
        rows = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return rows


def dump(server: QuickPostgres, url: str) -> str:
    name = sa.make_url(url).database
    command = [server.programs / "pg_dump", "-h", server.folder, "-U", "plates", name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "late",
    [
        pytest.param(make_event("a", TEXT, last_seen_s=NOW_S + 500), id="an open pass ends"),
        pytest.param(make_event("a", TEXT, first_seen_s=NOW_S + 3000), id="a clock is ahead"),
    ],
)
def test_a_pass_that_was_deleted_does_not_come_back(
    store: PassStore, tmp_path: Path, late: PassEvent
) -> None:
    store.write([make_event("a", TEXT, "agreed")], [WEBHOOK])
    store.delete_plate(TEXT, REQUESTER)
    store.write([late], [WEBHOOK])

    assert find_ids(store, PassQuery()) == []
    assert store.outbox.claim(WEBHOOK.name, 9, 4e9, 60) == []
    store.delete_expired(NOW_S)
    assert places_of(tmp_path, TEXT.encode()) == set()
    assert list((tmp_path / "pictures").rglob("*.jpg")) == []


def test_an_event_that_comes_late_from_elsewhere_is_not_kept(
    store: PassStore, url: str, tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    elsewhere = opening(url, spool=tmp_path / "elsewhere")
    elsewhere.writer.spool.put(address(events_of_the_plate()[-2:], [], NOW_S))
    store.delete_plate(TEXT, REQUESTER)
    assert elsewhere.replay_spool() == 0

    assert find_ids(store, PassQuery()) == []


def test_stills_that_may_show_the_vehicle_are_deleted(store: PassStore) -> None:
    store.write([make_event("a", TEXT), make_event("b", camera="yard")], [])
    store.live.write_stills([Still(name, NOW_S - 30, b"still") for name in ("gate", "yard")])
    store.delete_plate(TEXT, REQUESTER)

    assert list(store.live.still_times()) == ["yard"]


def test_records_of_gates_in_all_watchers_files_are_deleted(
    store: PassStore, database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "spool" / "watcher-2"
    folder.mkdir()
    record = GateOpening("g", "gate", "a", TEXT, "", "", "opened", "", NOW_S)
    for name in (FILE, REJECTED, f"{REJECTED}.kept-5"):
        (folder / name).write_bytes(to_line(record) + b'{"text": "' + TEXT.encode())

    assert store.delete_plate(TEXT, REQUESTER).openings == 6
    assert places_of(tmp_path, TEXT.encode()) == set()
    store.openings.write([record])  # of a watcher that had no database meanwhile
    assert read_rows(database, gate_openings.c.id) == []


def test_a_deletion_goes_on_after_an_error_and_retention_ends_it(
    store: PassStore, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write([make_event("a", TEXT), make_misread()], [WEBHOOK])

    def fail(*_: object) -> int:
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(picture_removals, "remove_pictures", fail)
        patch.setattr(remains, "erase_remains", fail)
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            store.delete_plate(TEXT, REQUESTER)
    assert find_ids(store, PassQuery()) == ["misread"]
    assert TEXT not in str(store.get("misread", REQUESTER))
    assert read_column(database, erasures.c.is_done) == [False]

    store.delete_expired(NOW_S)
    assert read_column(database, erasures.c.is_done) == [True]
    assert places_of(tmp_path, TEXT.encode(), b"crop a") == set()
