"""After an erasure, no row and no byte of a file contains the plate."""

import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.formats.transliteration import to_cyrillic
from plate_cameras.configuration import Camera, Store
from plate_cameras.passes import PassEvent
from plate_cameras.store.erasing import picture_removals, remains
from plate_cameras.store.erasing.plate_traces import redact, without_text
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import GateOpening, to_line
from plate_cameras.store.openings.opening_log import FILE, REJECTED
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import (
    erasures,
    gate_openings,
    passes,
    searches,
)
from plate_cameras.store.writing.addressed_events import address
from plate_cameras.store.writing.live_tables import CameraState, Still
from tests.plate_cameras.store.postgresql_server import PostgresqlServer
from tests.plate_cameras.store.stored_events import DAY_S, NOW_S, WEBHOOK, find_ids, make_event

TEXT = "Y908XE77"
CYRILLIC = "\u0443908\u0445\u043577"
GRAM = b"8XE"
"""Three characters that only this text has: the trigram index holds them."""
PICTURE = b"\xff\xd8 the picture of " + bytes(range(200))
OTHERS = 60
REQUESTER = Requester("officer", f"request of the owner of {TEXT.lower()}")


def shown(event: PassEvent, picture: bytes) -> PassEvent:
    best = replace(event.passed.best, crop_jpeg=picture + b" crop", frame_jpeg=picture + b" frame")
    return replace(event, passed=replace(event.passed, best=best))


def misread() -> PassEvent:
    """Return another vehicle's pass, one of whose frames was read as the plate."""
    event = make_event("misread", "Y903XK77")
    wrong = make_event("wrong", TEXT).passed.observations[:1]
    candidates = (("Y903XK77", 0.9), (TEXT, 0.05))
    changed = {"observations": wrong + event.passed.observations, "candidates": candidates}
    return replace(event, passed=replace(event.passed, **changed))


def events_of_the_plate() -> list[PassEvent]:
    unreadable = make_event("unread", TEXT)
    without = replace(unreadable.passed, text="", candidates=())
    return [
        shown(make_event("a", TEXT, "agreed"), PICTURE + b"early"),
        shown(make_event("a", TEXT, "updated", last_seen_s=NOW_S - 30), PICTURE + b"later"),
        shown(make_event("a", TEXT, last_seen_s=NOW_S - 20), PICTURE + b"last"),
        *(shown(make_event(f"again {at}", TEXT), PICTURE + bytes([at])) for at in range(20)),
        shown(replace(unreadable, passed=without), PICTURE + b"unread"),
    ]


def fill(store: PassStore) -> None:
    """Store the plate in every way, among other plates."""
    store.lists.create("residents")
    store.lists.put("residents", [ListEntry(TEXT, "flat 4", edits=2), ListEntry("B007KM17")])
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    others = [make_event(f"other {at}", f"B{at:03d}KM{at % 90 + 10}") for at in range(OTHERS)]
    store.write(others[::2], [WEBHOOK])
    for event in events_of_the_plate():
        store.write([event], [WEBHOOK])
    store.write([*others[1::2], misread()], [WEBHOOK])
    for delivery in store.outbox.claim(WEBHOOK.name, 50, NOW_S, 60):
        store.outbox.confirm([delivery], NOW_S)
    for text in (TEXT, CYRILLIC, "Y9*"):
        store.search(PassQuery(text), REQUESTER)
    store.search(PassQuery(parts=(TEXT,)), REQUESTER)


def fill_folders(store: PassStore) -> None:
    """Add events to the spool and to the rejected ones, and a picture without a pass."""
    spool = store.writer.spool
    spool.put(address([shown(make_event("waits", TEXT), PICTURE + b"spool")], [], NOW_S))
    spool.put(address([shown(make_event("damaged", TEXT), PICTURE + b"damaged")], [], NOW_S))
    spool.reject(sorted(spool.folder.glob("*.event"))[1], "a test")
    [aside] = spool.folder.glob("rejected/*")
    aside.write_bytes(aside.read_bytes()[:-9])


def add_opening(url: str) -> None:
    row = {"gate": "g", "camera": "gate", "pass_id": "a", "list": "residents", "outcome": "opened"}
    times = {"reason": "", "requested_s": NOW_S, "delay_s": 0.3}
    database = Database(url)
    with database.writing() as connection:
        values = {"id": "own", **row, **times, "text": TEXT, "entry_text": TEXT}
        connection.execute(sa.insert(gate_openings).values(values))
        others = {"id": "other", "text": "B007KM17", "entry_text": "B007KM17"}
        connection.execute(sa.insert(gate_openings).values(values | others))
    database.close()


def files_with(folder: Path, wanted: bytes) -> list[str]:
    """Return the top-level names of the files that contain some bytes."""
    files = [file for file in folder.rglob("*") if file.is_file() and wanted in file.read_bytes()]
    return sorted(file.relative_to(folder).parts[0] for file in files)


def rows_of(url: str, *columns: sa.ColumnElement[object]) -> list[tuple[object, ...]]:
    database = Database(url)
    statement = sa.select(*columns).order_by(sa.literal_column("1"))
    with database.reading() as connection:
        rows = [tuple(row) for row in connection.execute(statement)]
    database.close()
    return rows


@pytest.fixture
def filled(store: PassStore, url: str) -> PassStore:
    fill(store)
    add_opening(url)
    fill_folders(store)
    return store


def test_no_file_holds_a_deleted_plate(filled: PassStore, tmp_path: Path, url: str) -> None:
    is_sqlite = url.startswith("sqlite")
    places = {*files_with(tmp_path, TEXT.encode()), *files_with(tmp_path, PICTURE)}
    assert places >= {"pictures", "spool", *(["passes.db"] if is_sqlite else [])}
    assert not is_sqlite or files_with(tmp_path, GRAM)

    counts = filled.delete_plate(CYRILLIC, REQUESTER, entries=True)

    assert (counts.passes, counts.spooled, counts.entries) == (22, 2, 1)
    assert files_with(tmp_path, TEXT.encode()) == []
    assert files_with(tmp_path, CYRILLIC.encode()) == []
    assert files_with(tmp_path, TEXT.lower().encode()) == []
    assert files_with(tmp_path, GRAM) == []
    assert files_with(tmp_path, PICTURE) == []


def test_other_vehicles_stay_when_a_plate_is_deleted(filled: PassStore, url: str) -> None:
    filled.delete_plate(TEXT, REQUESTER, entries=True)

    number = sa.func.count(passes.c.number)
    assert rows_of(url, number) == [(OTHERS + 1,)]
    kept = filled.get("misread", REQUESTER)
    assert kept.found.candidates == (("Y903XK77", 0.9),)
    assert [reading.text for reading in kept.readings] == ["", "Y903XK77", "Y903XK77"]
    assert find_ids(filled, PassQuery("Y903XK77")) == ["misread"]
    documents = {one.id: one.document for one in filled.outbox.claim("webhook", 999, NOW_S, 60)}
    candidates = documents["misread_closed_0"]["data"]["candidates"]
    assert [candidate["text"] for candidate in candidates] == ["Y903XK77"]
    asked = rows_of(url, searches.c.number, searches.c.why, searches.c.query)[:4]
    assert [query for _, _, query in asked] == [
        {"text": "deleted"},
        {"text": "deleted"},
        {"text": "Y9*"},
        {"parts": ["deleted"]},
    ]
    assert {why for _, why, _ in asked} == {"request of the owner of deleted"}


def test_no_file_holds_an_expired_plate(store: PassStore, tmp_path: Path, url: str) -> None:
    for event in events_of_the_plate():
        store.write([event], [WEBHOOK])
    store.search(PassQuery(TEXT), REQUESTER)
    fresh = [make_event(f"{at}", first_seen_s=NOW_S + 399 * DAY_S) for at in range(50)]
    store.write(fresh, [WEBHOOK])
    assert files_with(tmp_path, PICTURE)

    assert store.delete_expired(NOW_S + 400 * DAY_S).passes == 22

    assert files_with(tmp_path, TEXT.encode()) == []
    assert files_with(tmp_path, GRAM) == []
    assert files_with(tmp_path, PICTURE) == []
    assert rows_of(url, searches.c.number) == []
    assert len(rows_of(url, passes.c.number)) == 50


def test_the_audit_is_kept_for_a_year_unless_told_otherwise(url: str, tmp_path: Path) -> None:
    settings = Store(url=url, audit_days=10)
    short = open_store(settings, tmp_path, clock=lambda: NOW_S)
    short.search(PassQuery(TEXT), REQUESTER)
    short.delete_expired(NOW_S + 9 * DAY_S)
    assert len(rows_of(url, searches.c.number)) == 1
    short.delete_expired(NOW_S + 11 * DAY_S)
    assert rows_of(url, searches.c.number) == []
    short.close()


def test_pictures_that_no_pass_shows_are_removed_after_a_day(
    store: PassStore, tmp_path: Path
) -> None:
    store.write([shown(make_event("a", first_seen_s=time.time()), b"shown")], [])
    for name in ("ab/cd/" + "abcd" * 16 + ".jpg", "ab/cd/.new-x", "ab/cd/notes.txt"):
        (tmp_path / "pictures" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pictures" / name).write_bytes(PICTURE)
    written_s = (tmp_path / "pictures/ab/cd/notes.txt").stat().st_mtime

    assert store.delete_expired(written_s + DAY_S / 2).pictures == 0
    assert len(files_with(tmp_path, PICTURE)) == 3
    assert store.delete_expired(written_s + 2 * DAY_S).pictures == 1
    assert [file.name for file in (tmp_path / "pictures/ab/cd").iterdir()] == ["notes.txt"]


@pytest.mark.server
def test_no_dump_and_no_statistics_hold_a_deleted_plate(
    server: PostgresqlServer, tmp_path: Path
) -> None:
    url = server.create_database("erasure")
    store = open_store(Store(url=url, keep_frames=True, blur="none"), tmp_path, clock=lambda: NOW_S)
    fill(store)
    add_opening(url)
    execute(url, "ANALYZE")
    assert TEXT in dump(server, url)
    assert TEXT in str(query(url, "SELECT * FROM pg_stats WHERE schemaname = 'public'"))

    store.delete_plate(TEXT, REQUESTER, entries=True)

    assert TEXT not in dump(server, url)
    assert CYRILLIC not in dump(server, url)
    assert TEXT not in str(query(url, "SELECT * FROM pg_stats WHERE schemaname = 'public'"))
    dead = "SELECT relname FROM pg_stat_user_tables WHERE n_dead_tup > 0"
    assert query(url, dead) == []
    store.close()

    # docs/privacy.md: the unused space within PostgreSQL's files.
    execute(url, "VACUUM FULL")
    execute(url, "CHECKPOINT")
    [(number,)] = query(url, "SELECT oid FROM pg_database WHERE datname = current_database()")
    base = server.folder / "cluster" / "base" / str(number)
    assert files_with(base, b"B007KM17")
    assert files_with(base, TEXT.encode()) == []


def execute(url: str, statement: str) -> None:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def query(url: str, statement: str) -> list[tuple[object, ...]]:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql(statement)]
    engine.dispose()
    return rows


def dump(server: PostgresqlServer, url: str) -> str:
    name = sa.make_url(url).database
    command = [server.programs / "pg_dump", "-h", server.folder, "-U", "plates", name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([["A", 0.9], ["B", 0.1]], [["B", 0.1]], id="pairs"),
        pytest.param(
            {"lists": [{"text": "A"}, {"text": "B"}]}, {"lists": [{"text": "B"}]}, id="objects"
        ),
        pytest.param({"zones": ["A", "yard"], "n": 1}, {"zones": ["yard"], "n": 1}, id="texts"),
        pytest.param(
            {"data": {"text": "A", "text_native": "\u0410", "text_score": 0.9, "n": 1}},
            {"data": {"text": "", "text_native": "", "text_score": 0.0, "n": 1}},
            id="an object that is no item",
        ),
        pytest.param({"last_text": "A", "n": 1}, {"last_text": "", "n": 1}, id="a state"),
        pytest.param([{"text": "\u0410"}, "\u0410"], [], id="in Cyrillic"),
        pytest.param({"text": "B", "note": "A"}, {"text": "B", "note": "A"}, id="other fields"),
    ],
)
def test_items_about_a_text_leave_a_value(value: object, kept: object) -> None:
    assert without_text(value, "A") == kept


@pytest.mark.parametrize(
    ("words", "redacted"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("case 7", "case 7", id="no plate"),
        pytest.param(f"of {TEXT}, please", "of deleted, please", id="among words"),
        pytest.param(CYRILLIC, "deleted", id="Cyrillic"),
        pytest.param("y 908 xe 77", "deleted", id="with spaces"),
        pytest.param("car y-908 XE77 of", "car deleted of", id="with spaces among words"),
        pytest.param(f"A{TEXT} {TEXT}7 {TEXT[1:]}", f"A{TEXT} {TEXT}7 {TEXT[1:]}", id="others"),
        pytest.param(f"{TEXT}*", "deleted*", id="pattern"),
    ],
)
def test_a_text_is_redacted_however_it_is_written(words: str, redacted: str) -> None:
    assert redact(words, TEXT) == redacted


def event_of_the_plate(pass_id: str, **changes: object) -> PassEvent:
    return make_event(pass_id, TEXT, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "late",
    [
        pytest.param({"kind": "closed", "last_seen_s": NOW_S + 500}, id="an open pass ends"),
        pytest.param({"first_seen_s": NOW_S + 3000}, id="by a clock that is ahead"),
    ],
)
def test_a_pass_that_was_deleted_does_not_come_back(
    store: PassStore, tmp_path: Path, late: dict[str, object]
) -> None:
    store.write([event_of_the_plate("a", kind="agreed")], [WEBHOOK])
    store.delete_plate(TEXT, REQUESTER)
    store.write([event_of_the_plate("a", **late)], [WEBHOOK])

    assert find_ids(store, PassQuery()) == []
    assert store.outbox.claim(WEBHOOK.name, 9, 4e9, 60) == []
    store.delete_expired(NOW_S)
    assert files_with(tmp_path, TEXT.encode()) == []
    assert list((tmp_path / "pictures").rglob("*.jpg")) == []


def test_an_event_that_comes_late_from_elsewhere_is_not_kept(
    store: PassStore, url: str, tmp_path: Path
) -> None:
    elsewhere = open_store(Store(url=url, spool=tmp_path / "elsewhere"), tmp_path)
    elsewhere.writer.spool.put(address([event_of_the_plate("late")], [], NOW_S))
    unread = replace(event_of_the_plate("unread").passed, text="")
    elsewhere.writer.spool.put(address([PassEvent("closed", unread)], [], NOW_S))
    store.delete_plate(TEXT, REQUESTER)
    assert elsewhere.replay_spool() == 0

    assert find_ids(store, PassQuery()) == []
    elsewhere.close()


def test_an_event_of_a_corrected_pass_tells_the_plate_no_more(
    store: PassStore, tmp_path: Path
) -> None:
    store.write([event_of_the_plate("corrected", kind="agreed")], [WEBHOOK])
    store.write([make_event("corrected", "Y903XK77")], [WEBHOOK])
    store.delete_plate(TEXT, REQUESTER)

    early, late = store.outbox.claim(WEBHOOK.name, 1, 4e9, 60)[0], store.get("corrected", REQUESTER)
    data = early.document["data"]
    assert (data["text"], data["text_native"], data["candidates"][0]["text"]) == (
        "",
        "",
        "B777BB77",
    )
    assert late.found.text == "Y903XK77"
    assert files_with(tmp_path, TEXT.encode()) == []
    assert files_with(tmp_path, to_cyrillic(TEXT).encode()) == []


def test_states_of_cameras_tell_the_plate_no_more(store: PassStore, tmp_path: Path) -> None:
    states = [
        CameraState(name, "w", NOW_S, {"name": name, "last_text": text})
        for name, text in (("gate", TEXT), ("yard", "B007KM17"))
    ]
    assert store.live.write_states(states) == []
    store.delete_plate(TEXT, REQUESTER)
    assert files_with(tmp_path, TEXT.encode()) == []

    assert store.live.write_states(states) == ["gate"]  # its watcher still has it
    texts = {name: one.document["last_text"] for name, one in store.live.states().items()}
    assert texts == {"gate": "", "yard": "B007KM17"}
    assert files_with(tmp_path, TEXT.encode()) == []


def test_stills_that_may_show_the_vehicle_are_deleted(store: PassStore) -> None:
    store.write([event_of_the_plate("a"), make_event("b", camera="yard")], [])
    cameras = {"gate": NOW_S - 30, "yard": NOW_S - 30}
    store.live.write_stills([Still(name, time_s, b"still") for name, time_s in cameras.items()])
    store.delete_plate(TEXT, REQUESTER)

    assert list(store.live.still_times()) == ["yard"]


def test_notes_and_reasons_tell_the_plate_no_more(store: PassStore, tmp_path: Path) -> None:
    spaced = "Y 908-xe 77"
    store.lists.create("residents", f"with {TEXT}")
    store.lists.put("residents", [ListEntry("B007KM17", f"second car of {spaced}")])
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    store.write([make_event("a", "B007KM17")], [])
    store.search(PassQuery(), Requester("officer", f"the owner of {spaced} asks"))
    store.delete_plate(TEXT, REQUESTER)

    assert files_with(tmp_path, TEXT.encode()) == []
    assert files_with(tmp_path, spaced.encode()) == []
    assert store.get("a", REQUESTER).hits[0].note == "second car of deleted"


def test_records_of_gates_in_all_watchers_files_are_deleted(
    store: PassStore, url: str, tmp_path: Path
) -> None:
    own = tmp_path / "spool" / "watcher-2"
    own.mkdir()
    record = GateOpening("g", "gate", "a", TEXT, "", "", "opened", "", NOW_S)
    for name in (FILE, REJECTED, f"{REJECTED}.kept-5"):
        (own / name).write_bytes(to_line(record) + b'{"text": "' + TEXT.encode())

    assert store.delete_plate(TEXT, REQUESTER).openings == 6
    assert files_with(tmp_path, TEXT.encode()) == []
    store.openings.write([record])  # of a watcher that had no database meanwhile
    assert rows_of(url, gate_openings.c.id) == []


def test_a_deletion_goes_on_after_an_error_and_retention_ends_it(
    store: PassStore, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write([event_of_the_plate("a"), misread()], [WEBHOOK])

    def fail(*_: object) -> int:
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(picture_removals, "remove_pictures", fail)
        broken.setattr(remains, "erase_remains", fail)
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            store.delete_plate(TEXT, REQUESTER)
    assert find_ids(store, PassQuery()) == ["misread"]
    assert TEXT not in str(store.get("misread", REQUESTER))
    assert rows_of(url, erasures.c.is_done) == [(False,)]

    store.delete_expired(NOW_S)
    assert rows_of(url, erasures.c.is_done) == [(True,)]
    assert files_with(tmp_path, TEXT.encode()) == []
    assert files_with(tmp_path, b"crop a") == []
