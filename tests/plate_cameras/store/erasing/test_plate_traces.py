"""A plate's text is removed from all columns, and the rows stay; its data are exported."""

import json
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from plate_cameras.passes import PassEvent
from plate_cameras.store.erasing import plate_traces
from plate_cameras.store.erasing.plate_traces import erase_traces, redact, remove_text
from plate_cameras.store.errors import StoreError, StoreUnavailable
from plate_cameras.store.finding.export import export_passes
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import searches
from plate_cameras.store.writing.pictures import PictureFolder
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, WEBHOOK, make_event, read_rows

TEXT, OTHER = "Y908XE77", "Y903XK77"
CYRILLIC = "\u0443908\u0445\u043577"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([["A", 0.9], ["B", 0.1]], [["B", 0.1]], id="pairs"),
        pytest.param({"a": [{"text": "A"}, {"text": "B"}]}, {"a": [{"text": "B"}]}, id="objects"),
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
    assert remove_text(value, "A") == kept


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


def make_misread(pass_id: str = "a") -> PassEvent:
    """Return a pass in whose frames the plate is the reading, a candidate, or absent."""
    candidates = ((OTHER, 0.9), (TEXT, 0.05))
    look, _ = make_event(pass_id, OTHER).vehicle_pass.observations
    changes = {"text": TEXT, "candidates": ()}, {"candidates": candidates}, {}
    looks = tuple(
        replace(look, time_s=look.time_s + at, plate=replace(look.plate, **change))
        for at, change in enumerate(changes)
    )
    return make_event(pass_id, OTHER, observations=looks, candidates=candidates)


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_many_passes_are_changed_in_small_transactions(
    store: PassStore, database: Database, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(plate_traces, "BATCH", batch)
    names = [f"{at}" for at in range(5)]
    store.write([make_misread(name) for name in names], [WEBHOOK])
    erase_traces(database, TEXT)

    assert all(TEXT not in str(store.get(name, REQUESTER)) for name in names)
    deliveries = store.outbox.claim("webhook", 9, NOW_S, 60)
    assert (len(deliveries), TEXT in str(deliveries)) == (5, False)


@pytest.mark.parametrize("page", [1, 2, 5, 6])
def test_searches_of_many_pages_lose_the_plate(
    store: PassStore, database: Database, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(plate_traces, "FOUND_AT_ONCE", page)
    for text, why in [(TEXT, "a"), (OTHER, f"of {TEXT}"), (OTHER, "b"), (OTHER, "c"), (TEXT, "d")]:
        store.search(PassQuery(text), Requester("officer", why))
    erase_traces(database, TEXT)

    rows = read_rows(database, searches.c.number, searches.c.query, searches.c.why)
    assert [(query["text"], why) for _, query, why in rows] == [
        ("deleted", "a"),
        (OTHER, "of deleted"),
        (OTHER, "b"),
        (OTHER, "c"),
        ("deleted", "d"),
    ]


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is full"), KeyError("the disk")])
def test_the_other_traces_go_though_those_of_passes_cannot(
    store: PassStore, database: Database, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(plate_traces, "erase_from_passes", fail)
    store.lists.create("residents", f"not {TEXT}")
    store.search(PassQuery(TEXT), REQUESTER)
    with pytest.raises(type(error), match="the disk"):
        erase_traces(database, TEXT)

    assert [plate_list.note for plate_list in store.lists.describe(EVERYTHING)] == ["not deleted"]
    assert [row[1] for row in read_rows(database, searches.c.number, searches.c.query)] == [
        {"text": "deleted"}
    ]


@pytest.fixture
def filled_store(store: PassStore) -> PassStore:
    """Return a store with passes of the plate, of a similar text, and of the plate in one frame."""
    looks = make_event("c", TEXT).vehicle_pass.observations
    in_a_frame = make_event("c", "", candidates=(), observations=looks)
    store.write([make_event("a", TEXT), make_event("b", OTHER), in_a_frame], [WEBHOOK])
    return store


def test_a_plate_is_exported_into_a_folder_or_a_zip_file(
    filled_store: PassStore, tmp_path: Path
) -> None:
    out, archive_file = tmp_path / "out", tmp_path / "out.zip"
    assert filled_store.export_plate(TEXT, out, REQUESTER) == 2
    assert filled_store.export_plate(TEXT, archive_file, REQUESTER) == 2
    tables = [json.loads(line) for line in (out / "passes.jsonl").read_text().splitlines()]
    of_plate, in_a_frame = sorted(tables, key=lambda table: table["found"]["id"])
    assert (of_plate["found"]["id"], in_a_frame["found"]["id"]) == ("a", "c")
    assert of_plate["readings"][0]["text"] == TEXT
    crop = f"pictures/{of_plate['found']['crop']}.jpg"
    assert (out / crop).read_bytes() == b"crop a"
    with zipfile.ZipFile(archive_file) as archive:
        assert archive.read(crop) == b"crop a"
        assert len(archive.read("passes.jsonl").splitlines()) == 2
        assert len(archive.namelist()) == 5
    with pytest.raises(StoreError, match="exists"):
        filled_store.export_plate(TEXT, archive_file, REQUESTER)


def test_each_question_is_recorded(
    filled_store: PassStore, database: Database, tmp_path: Path
) -> None:
    filled_store.search(PassQuery("Y90*", cameras=("gate",)), REQUESTER)
    filled_store.get("a", REQUESTER)
    filled_store.export_plate(TEXT, tmp_path / "plate", REQUESTER)
    filled_store.delete_plate(TEXT, REQUESTER)

    names = "number", "kind", "query", "count", "who", "why"
    rows = read_rows(database, *(searches.c[name] for name in names))
    assert {row[4:] for row in rows} == {("officer", "case 12")}
    assert [row[1:4] for row in rows] == [
        ("search", {"text": "Y90*", "cameras": ["gate"]}, 2),
        ("get", {"id": "a"}, 1),
        ("export plate", {"text": "deleted"}, 2),
        ("delete plate", {}, 2),
    ]


@pytest.mark.parametrize("name", ["plate.zip", "plate"])
def test_an_export_has_one_pass_in_memory(store: PassStore, tmp_path: Path, name: str) -> None:
    store.write([make_event("a")], [])
    details = store.get("a", REQUESTER)
    hit = replace(
        details, found_pass=replace(details.found_pass, text="A" * 100_000, crop=None, frame=None)
    )
    tracemalloc.start()
    count = export_passes(
        (hit for _ in range(100)), PictureFolder(tmp_path / "no"), tmp_path / name
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 100
    assert peak < 100 * 100_000 / 4
