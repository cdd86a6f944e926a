"""Values of another kind than their column's, which SQLite stores, must not hide other rows."""

from pathlib import Path

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.control_room.rest.documents import to_opening
from plate_cameras.passes import to_rfc3339
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.gates.known_vehicles import make_opening
from tests.plate_cameras.store.stored_events import REQUESTER, make_event
from tests.plate_cameras.store.tables.damaged_store import (
    TEXT,
    Damage,
    check_that_others_are_there,
)

OTHER_KINDS = [pytest.param("'a'", id="a text"), pytest.param("x'ff00'", id="bytes")]
HUGE = [pytest.param("1e300", id="huge"), pytest.param("-1e300", id="far below")]
TIMES = ("first_seen_s", "last_seen_s", "stored_s")
NUMBERS = (*TIMES, "text_score", "speed_widths_s", "speed_kmh", "speed_error_kmh", "frames")
TEXTS = ("clock", "format", "direction", "region_code")
COLUMNS = [
    *(f"passes.{name}" for name in (*NUMBERS, *TEXTS, "crop", "frame")),
    *(f"readings.{name}" for name in ("time_s", "text", "score", "sharpness", "weight", "source")),
]


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.mark.parametrize("value", OTHER_KINDS + HUGE)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_of_another_kind_hides_no_other(
    store: PassStore, damage: Damage, tmp_path: Path, column: str, value: str
) -> None:
    check_that_others_are_there(store, damage, tmp_path, column, value)


@pytest.mark.parametrize("value", OTHER_KINDS + HUGE)
def test_pages_go_on_after_a_damaged_time(store: PassStore, damage: Damage, value: str) -> None:
    store.write([make_event(id_, TEXT) for id_ in ("a", "b", "c")], [])
    damage("passes.first_seen_s", value, "id = 'b'")
    ids, cursor = list[str](), ""
    for _ in range(3):
        page = store.search(PassQuery(TEXT, limit=1, cursor=cursor), REQUESTER)
        ids, cursor = ids + [found_pass.id for found_pass in page.passes], page.cursor
    assert (sorted(ids), cursor) == (["a", "b", "c"], "")


@pytest.mark.parametrize("value", OTHER_KINDS + HUGE)
@pytest.mark.parametrize("name", ["requested_s", "delay_s", "gate", "text", "outcome", "remark"])
def test_a_damaged_opening_hides_no_other(
    store: PassStore, damage: Damage, name: str, value: str
) -> None:
    store.openings.write([make_opening(id=id_) for id_ in ("one", "two", "three")])
    damage(f"gate_openings.{name}", value, "id = 'two'")
    ids, cursor = list[str](), ""
    for _ in range(3):
        page = store.openings.page(EVERYTHING, 1, cursor)
        ids += [to_opening(opening).id for opening in page.openings]
        cursor = page.cursor
    assert (sorted(ids), cursor) == (["one", "three", "two"], "")


@pytest.mark.parametrize("value", OTHER_KINDS)
@pytest.mark.parametrize("column", ["searches.time_s", "searches.who", "searches.count"])
def test_a_damaged_entry_of_the_audit_hides_no_other(
    store: PassStore, damage: Damage, column: str, value: str
) -> None:
    for _ in range(2):
        store.search(PassQuery(TEXT), REQUESTER)
    damage(column, value, "number = 1")
    entries = store.reader.searches(AuditQuery(), EVERYTHING)
    assert len([to_rfc3339(entry.time_s) for entry in entries]) == 2
    assert [type(entry.who) for entry in entries] == [str, str]
    assert [type(entry.count) for entry in entries] == [int, int]


@pytest.mark.parametrize("value", OTHER_KINDS)
@pytest.mark.parametrize("table", ["cameras", "lists"])
def test_a_damaged_retention_lets_passes_be_deleted(
    store: PassStore, damage: Damage, table: str, value: str
) -> None:
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    store.lists.save("residents", "", 10.0)
    store.write([make_event("a")], [])
    damage(f"{table}.retention_days", value, "1")
    assert [plate_list.note for plate_list in store.lists.describe(EVERYTHING)] == [""]
    assert store.delete_expired(4e9).passes == 1
