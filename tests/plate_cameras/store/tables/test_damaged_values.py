"""Damaged values of one row, which must not hide other rows. PostgreSQL checks JSON itself."""

import os
import zipfile
from pathlib import Path

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.lists.list_lookup import ListEntry, ListLookup
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.people.people import Person
from plate_cameras.store.scope import EVERYTHING, Scope
from plate_cameras.store.tables.database import Database
from tests.plate_cameras.gates.known_vehicles import make_opening
from tests.plate_cameras.store.stored_events import REQUESTER, make_event
from tests.plate_cameras.store.tables.damaged_store import TEXT, Damage, check_that_others_are_there

OTHER = "M456OP77"
NORTH = Scope(("north",), frozenset(("yard",)))
WRONG_FORMS = [
    pytest.param("'[{'", id="no JSON"),
    pytest.param("'\"A123BC77\"'", id="a text"),
    pytest.param("'[[1, \"a\"], 5, null]'", id="a list of others"),
    pytest.param("'{\"box\": 3}'", id="a table"),
    pytest.param("CAST(x'5b22ff225d' AS TEXT)", id="no UTF-8"),
]


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.mark.parametrize("value", WRONG_FORMS)
@pytest.mark.parametrize(
    "column",
    [
        *(f"passes.{name}" for name in ("candidates", "zones", "crossings", "best")),
        *(f"readings.{name}" for name in ("candidates", "box")),
    ],
)
def test_a_damaged_pass_hides_no_other(
    store: PassStore, damage: Damage, tmp_path: Path, column: str, value: str
) -> None:
    check_that_others_are_there(store, damage, tmp_path, column, value)


def test_a_damaged_value_keeps_no_deleted_plate(
    store: PassStore, damage: Damage, database: Database
) -> None:
    store.write([make_event("a", OTHER)], [])
    damage("passes.candidates", f"'[\"{TEXT}\", ['", "id = 'a'")
    damage("readings.candidates", f"'[\"{TEXT}\", ['", "position = 0")
    store.search(PassQuery(OTHER), REQUESTER)
    damage("searches.query", f"'[\"{TEXT}\", ['", "1")
    store.delete_plate(TEXT, REQUESTER)
    with database.reading() as connection:
        for column in ("passes.candidates", "readings.candidates", "searches.query"):
            table, name = column.split(".")
            rows = connection.exec_driver_sql(f"SELECT {name} FROM {table}").all()
            assert TEXT not in str(rows)


@pytest.mark.parametrize("value", WRONG_FORMS)
def test_a_damaged_camera_has_no_lists_and_other_cameras_have_theirs(
    store: PassStore, damage: Damage, value: str
) -> None:
    cameras = [Camera(name, f"rtsp://{name}", lists=(TEXT,)) for name in ("gate", "yard")]
    store.configure(cameras)
    store.write([make_event("a", TEXT)], [])  # the cameras come with the first event
    store.lists.save(TEXT, "", None)
    store.lists.put(TEXT, [ListEntry(TEXT)])
    lookup = ListLookup()
    damage("cameras.lists", value, "name = 'gate'")
    store.refresh(lookup)
    assert [bool(lookup.match(camera.name, TEXT, 0.0)) for camera in cameras] == [False, True]


@pytest.mark.parametrize("name", ["edits", "valid_from_s", "valid_until_s"])
@pytest.mark.parametrize("value", ["'a'", "x'00'"])
def test_a_damaged_entry_opens_no_gate_and_blocks_its_plate(
    store: PassStore, damage: Damage, name: str, value: str
) -> None:
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    store.lists.save("residents", "", None)
    store.lists.put("residents", [ListEntry(TEXT), ListEntry(OTHER, edits=1)])
    damage(f"list_entries.{name}", value, f"text = '{TEXT}'")
    lookup = ListLookup()
    store.refresh(lookup)
    (residents,) = lookup.all
    assert [bool(residents.match(text, 0.0)) for text in (TEXT, OTHER)] == [False, True]
    assert [residents.blocks(text, 0.0) for text in (TEXT, OTHER, "B840OK197")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("value", ["'a'", "x'00'"])
def test_a_damaged_time_of_an_opening_counts_as_now(
    store: PassStore, damage: Damage, value: str
) -> None:
    store.openings.write([make_opening(id="one"), make_opening(id="two")])
    damage("gate_openings.kept_s", value, "id = 'one'")
    ages_s = {opening.id: age_s for opening, age_s in store.openings.recent(60.0)}
    assert ages_s == {"one": 0.0, "two": pytest.approx(0.0, abs=5.0)}


@pytest.mark.parametrize("value", WRONG_FORMS)
def test_a_damaged_list_belongs_to_no_group(store: PassStore, damage: Damage, value: str) -> None:
    for name in ("guests", "residents"):
        store.lists.save(name, "", None, Requester("anna", "-", Scope(("north", "o", "p"))))
    damage("lists.groups", value, "name = 'guests'")
    assert [plate_list.name for plate_list in store.lists.describe(EVERYTHING)] == [
        "guests",
        "residents",
    ]
    scope = Scope(("north", "o", "p"))
    assert [plate_list.name for plate_list in store.lists.describe(scope)] == ["residents"]


@pytest.mark.parametrize(
    ("column", "value"),
    [("people.groups", value) for value in ("'[{'", "'\"north\"'", "'[5]'", "'{}'", "'[\"\"]'")]
    + [("people.role", "'owner'")],
)
def test_a_damaged_person_is_disabled_and_can_be_mended(
    store: PassStore, damage: Damage, column: str, value: str
) -> None:
    boris = Person("boris", "editor", ("north",))
    for person in (Person("anna", "administrator"), boris):
        store.people.add(person, "hash", REQUESTER)
    assert store.sessions.begin("boris", "hash", "token", 3600)
    damage(column, value, "name = 'boris'")
    assert store.people.all(EVERYTHING) == [
        Person("anna", "administrator"),
        Person("boris", "viewer", is_disabled=True),
    ]
    assert store.people.all(NORTH) == []
    assert store.sessions.find("token") is None
    stored_person = store.people.find("boris")
    assert stored_person is not None
    assert stored_person.person.is_disabled
    store.people.change(boris, REQUESTER, keeps_administrator=True)
    assert store.sessions.find("token") == boris


@pytest.mark.parametrize("value", WRONG_FORMS)
@pytest.mark.parametrize("column", ["searches.query", "searches.groups"])
def test_a_damaged_search_hides_no_other(
    store: PassStore, damage: Damage, column: str, value: str
) -> None:
    of_north = Requester("anna", "-", NORTH, is_automatic=True)
    store.write([make_event("a", TEXT), make_event("b", TEXT)], [])
    for text in (TEXT, OTHER):
        store.search(PassQuery(text), of_north)
    damage(column, value, "number = 1")
    assert len(store.reader.searches(AuditQuery(), EVERYTHING)) == 2
    expected = [2, 1] if column == "searches.query" else [2]
    assert [entry.number for entry in store.reader.searches(AuditQuery(), NORTH)] == expected
    store.search(PassQuery(TEXT), of_north)
    assert len(store.reader.searches(AuditQuery(), EVERYTHING)) == 3


def make_unreadable(folder: Path) -> None:
    """Put a folder in the place of a picture: nobody can read it, not even root."""
    file = min(file for file in folder.rglob("*.jpg") if file.read_bytes() == b"crop a")
    file.unlink()
    file.mkdir()


def test_an_export_names_pictures_that_cannot_be_read(store: PassStore, tmp_path: Path) -> None:
    store.write([make_event("a", TEXT), make_event("b", TEXT)], [])
    make_unreadable(tmp_path)
    assert store.export_plate(TEXT, tmp_path / "out.zip", REQUESTER) == 2
    crop = store.get("a", REQUESTER).found_pass.crop
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        missing = archive.read("missing-pictures.txt").decode()
        assert missing == (f"pictures/{crop}.jpg: a picture cannot be read: {os.strerror(21)}\n")
        contents = {archive.read(name) for name in archive.namelist()}
    assert {b"crop b", b"frame a", b"frame b"} <= contents


def test_an_export_without_the_storage_of_pictures_fails(store: PassStore, tmp_path: Path) -> None:
    store.write([make_event(f"pass {number}", TEXT) for number in range(10)], [])
    for file in [*tmp_path.rglob("*.jpg")]:
        file.unlink()
        file.mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        store.export_plate(TEXT, tmp_path / "out.zip", REQUESTER)
    assert not (tmp_path / "out.zip").exists()
