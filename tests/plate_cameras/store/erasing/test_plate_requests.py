"""Export and deletion of one plate, and the audit, alike in both databases."""

import json
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreError
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import searches
from tests.plate_cameras.store.stored_events import REQUESTER, WEBHOOK, make_event


@pytest.fixture
def filled(store: PassStore) -> PassStore:
    """Return a store with passes of the plate, of a similar text, and of the plate in one frame."""
    unreadable = make_event("c", "A123BC77")
    changed = {"text": "", "candidates": (), "observations": unreadable.passed.observations}
    events = [make_event("a"), make_event("b", "A128BC77"), make_event("c", **changed)]
    store.write(events, [WEBHOOK])
    return store


def read_audit(url: str) -> list[tuple[str, str, str, dict[str, object], int]]:
    columns = (searches.c.who, searches.c.why, searches.c.kind, searches.c.query)
    database = Database(url)
    with database.reading() as connection:
        statement = sa.select(*columns, searches.c.count).order_by(searches.c.number)
        rows = [tuple(row) for row in connection.execute(statement)]
    database.close()
    return rows  # type: ignore[return-value]


def test_deletion_reaches_lists_on_request(store: PassStore) -> None:
    store.lists.create("residents")
    store.lists.put("residents", [ListEntry("A123BC77", edits=1)])
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    store.write([make_event("b", "A128BC77")], [])

    assert store.delete_plate("A123BC77", REQUESTER).entries == 0
    assert store.delete_plate("A123BC77", REQUESTER, entries=True).entries == 1
    assert store.lists.entries("residents", EVERYTHING) == []
    assert store.get("b", REQUESTER).hits == ()


def test_a_plate_is_exported_into_a_folder(filled: PassStore, tmp_path: Path) -> None:
    assert filled.export_plate("A123BC77", tmp_path / "out", REQUESTER) == 2

    lines = (tmp_path / "out" / "passes.jsonl").read_text().splitlines()
    tables = {table["found"]["id"]: table for table in map(json.loads, lines)}
    assert set(tables) == {"a", "c"}
    assert tables["a"]["readings"][0]["text"] == "A123BC77"
    crop = tmp_path / "out" / "pictures" / f"{tables['a']['found']['crop']}.jpg"
    assert crop.read_bytes() == b"crop a"


def test_a_plate_is_exported_into_a_zip_file(filled: PassStore, tmp_path: Path) -> None:
    assert filled.export_plate("A123BC77", tmp_path / "out.zip", REQUESTER) == 2

    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert len(archive.read("passes.jsonl").splitlines()) == 2
        assert len(archive.namelist()) == 5


def test_an_export_does_not_replace_a_file(filled: PassStore, tmp_path: Path) -> None:
    (tmp_path / "out.zip").touch()

    with pytest.raises(StoreError, match="exists"):
        filled.export_plate("A123BC77", tmp_path / "out.zip", REQUESTER)


def test_each_question_is_recorded(filled: PassStore, url: str, tmp_path: Path) -> None:
    filled.search(PassQuery("A12*", cameras=("gate",)), REQUESTER)
    filled.get("a", REQUESTER)
    filled.export_plate("A123BC77", tmp_path / "plate", REQUESTER)
    filled.delete_plate("A123BC77", REQUESTER)

    assert read_audit(url) == [
        ("officer", "case 12", "search", {"text": "A12*", "cameras": ["gate"]}, 2),
        ("officer", "case 12", "get", {"id": "a"}, 1),
        ("officer", "case 12", "export plate", {"text": "deleted"}, 2),
        ("officer", "case 12", "delete plate", {}, 2),
    ]
