"""Checks that a store with a damaged value still shows all that is whole."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from plate_cameras.control_room.rest.documents import to_details, to_pass
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.writing.unclosed_passes import UnclosedPasses
from tests.plate_cameras.store.stored_events import REQUESTER, make_event

TEXT = "A123BC77"
Damage = Callable[[str, str, str], None]
"""Puts a value into a column, as `table.column`, of the rows of a condition."""


def check_that_others_are_there(
    store: PassStore, damage: Damage, tmp_path: Path, column: str, value: str
) -> None:
    events = [make_event(id_, TEXT, "agreed") for id_ in ("a", "b")]
    store.write(events, [])
    key = "id" if column.startswith("passes") else "pass_number"
    damage(column, value, f"{key} = {'1' if key == 'pass_number' else repr('a')}")

    page = store.search(PassQuery(TEXT), REQUESTER)
    assert {found_pass.id for found_pass in page.passes} == {"a", "b"}
    assert {to_pass(found_pass, ()).text for found_pass in page.passes} == {TEXT}
    details = [store.get(id_, REQUESTER, neighbours=True) for id_ in ("a", "b")]
    assert [len(to_details(pass_details, ()).readings) for pass_details in details] == [2, 2]
    assert store.export_plate(TEXT, tmp_path / "out", REQUESTER) == 2
    with closing(Database(f"sqlite:///{tmp_path / 'passes.db'}")) as database:
        closings = UnclosedPasses(database).interrupted(["gate"])
    assert [event.vehicle_pass.id for event in closings] == ["a", "b"]
    store.write(closings, [])
    assert store.delete_plate(TEXT, REQUESTER).passes == 2
