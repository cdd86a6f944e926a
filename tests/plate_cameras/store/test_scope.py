"""Scopes of groups, as a configuration makes them."""

from dataclasses import replace
from typing import Any

import pytest

from plate_cameras.configuration import Camera, Configuration, Gate
from plate_cameras.store.errors import NameTaken, SharedList, UnknownName
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.finding.reader import CameraCount, CountQuery, HourCount
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.scope import EVERYTHING, Scope
from tests.plate_cameras.store.stored_events import NOW_S, make_event


def camera(name: str, group: str, *lists: str) -> Camera:
    return Camera(name, "rtsp://10.0.0.5/1", group=group, lists=lists)


def gate(name: str, cameras: tuple[str, ...], *lists: str) -> Gate:
    return Gate(name, "http", "http://10.0.0.9/", cameras, lists)


CONFIGURATION = Configuration(
    (
        camera("a", "east", "cars", "shared"),
        camera("b", "west", "shared", "trucks"),
        camera("c", ""),
    ),
    gates=(
        gate("east", ("a",), "guests"),
        gate("yard", ("a", "b"), "cars", "trucks", "couriers"),
    ),
)


EAST = Scope.of(("east",), CONFIGURATION)


def test_it_has_the_cameras_of_its_groups_and_without_groups_everything() -> None:
    assert Scope.of((), CONFIGURATION) == EVERYTHING
    assert [EAST.sees(name) for name in "abc"] == [True, False, False]
    assert [EVERYTHING.sees(name) for name in "abc"] == [True] * 3


@pytest.mark.parametrize(
    ("name", "is_seen", "is_foreign"),
    [
        pytest.param("cars", True, True, id="of its camera, and of a gate of both"),
        pytest.param("trucks", False, True, id="of another camera, and of a gate of both"),
        pytest.param("shared", True, True, id="of both cameras"),
        pytest.param("guests", True, False, id="of its gate alone"),
        pytest.param("couriers", True, True, id="of a gate of both alone"),
        pytest.param("new", False, False, id="of none"),
    ],
)
def test_lists_belong_to_those_whose_cameras_look_them_up(
    name: str, *, is_seen: bool, is_foreign: bool
) -> None:
    assert (EAST.uses(name), name in EAST.foreign_lists) == (is_seen, is_foreign)
    assert EAST.sees_list(name, ("west",)) is is_seen
    assert EVERYTHING.sees_list(name, None)


@pytest.mark.parametrize(
    ("owners", "is_seen"),
    [(None, False), ((), False), (("east",), True), (("east", "west"), False)],
)
def test_an_unused_list_belongs_to_its_owners(
    owners: tuple[str, ...] | None, *, is_seen: bool
) -> None:
    assert EAST.sees_list("new", owners) is is_seen
    assert EAST.sees_list("trucks", owners) is False


GATE_ONLY = Requester("anna", "case 7", Scope(("east",), frozenset({"gate"})))
HOUR_S = 3600
START_S = NOW_S - NOW_S % (24 * HOUR_S)


@pytest.fixture
def filled_store(store: PassStore) -> PassStore:
    """Return a store with two passes at the gate and one in the yard, an hour apart."""
    store.write(
        [
            make_event("gate-1", first_seen_s=START_S),
            make_event("yard-1", first_seen_s=START_S + HOUR_S, camera="yard"),
            make_event("gate-2", first_seen_s=START_S + 2 * HOUR_S, text="B777BB77"),
        ],
        [],
    )
    return store


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        pytest.param(PassQuery(), ["gate-2", "gate-1"], id="all"),
        pytest.param(PassQuery(text="A123BC77"), ["gate-1"], id="exact text"),
        pytest.param(PassQuery(text="A123*"), ["gate-1"], id="start of a text"),
        pytest.param(PassQuery(text="A123BC78", edits=1), ["gate-1"], id="edits"),
        pytest.param(PassQuery(cameras=("yard",)), [], id="a hidden camera"),
        pytest.param(PassQuery(cameras=("yard", "gate")), ["gate-2", "gate-1"], id="both"),
        pytest.param(PassQuery(zones=("drive",)), ["gate-2", "gate-1"], id="zone"),
    ],
)
def test_searches_find_what_is_shown(
    filled_store: PassStore, query: PassQuery, ids: list[str]
) -> None:
    assert [found_pass.id for found_pass in filled_store.search(query, GATE_ONLY).passes] == ids


def test_hidden_passes_and_their_pictures_are_not_there(filled_store: PassStore) -> None:
    nobody = Requester("anna", "-", Scope(("empty",), frozenset()))
    assert filled_store.search(PassQuery(), nobody).passes == ()
    assert filled_store.reader.count_by_camera(CountQuery(), nobody.scope) == []
    assert filled_store.get("gate-1", GATE_ONLY).found_pass.camera == "gate"
    assert filled_store.reader.picture_of("gate-1", "crop", GATE_ONLY.scope)
    with pytest.raises(UnknownName, match="no pass 'yard-1'"):
        filled_store.get("yard-1", GATE_ONLY)
    with pytest.raises(UnknownName, match="no frame of pass 'yard-1'"):
        filled_store.reader.picture_of("yard-1", "frame", GATE_ONLY.scope)


DAY, LAST_DAY = "2025-06-15", "2025-06-14"
UNTIL = {"from_s": START_S, "until_s": START_S + 2 * HOUR_S, "offset_s": -HOUR_S}


@pytest.mark.parametrize(
    ("query", "scope", "hours", "cameras"),
    [
        ({}, GATE_ONLY.scope, [(DAY, 0), (DAY, 2)], {"gate": 2}),
        ({}, EVERYTHING, [(DAY, 0), (DAY, 1), (DAY, 2)], {"gate": 2, "yard": 1}),
        (UNTIL, EVERYTHING, [(LAST_DAY, 23), (DAY, 0)], {"gate": 1, "yard": 1}),
        ({"cameras": ("yard",)}, EVERYTHING, [(DAY, 1)], {"yard": 1}),
    ],
)
def test_counts_keep_to_their_cameras_time_and_zone_of_time(
    filled_store: PassStore,
    query: dict[str, Any],
    scope: Scope,
    hours: list[tuple[str, int]],
    cameras: dict[str, int],
) -> None:
    count = CountQuery(**query)
    by_hour = [HourCount(*hour, 1) for hour in hours]
    assert filled_store.reader.count_by_hour(count, scope) == by_hour
    by_camera = [CameraCount(*pair) for pair in cameras.items()]
    assert filled_store.reader.count_by_camera(count, scope) == by_camera


def test_an_entry_of_the_audit_gets_its_count_later(filled_store: PassStore) -> None:
    number = filled_store.reader.record(GATE_ONLY, "export", {"text": "A*"})
    filled_store.reader.count(number, 2)
    (entry,) = filled_store.reader.searches(AuditQuery(from_s=NOW_S, until_s=NOW_S + 1), EVERYTHING)
    assert (entry.who, entry.why, entry.kind, entry.count) == ("anna", "case 7", "export", 2)
    assert filled_store.reader.searches(AuditQuery(before=number), EVERYTHING) == []


@pytest.mark.parametrize(
    ("groups", "numbers"),
    [
        pytest.param((), ["0", "1", "2", "3"], id="all"),
        pytest.param(("east",), ["1"], id="one group"),
        pytest.param(("east", "west"), ["1", "2"], id="two groups"),
        pytest.param(("north",), [], id="another group"),
    ],
)
def test_the_audit_has_lines_of_those_whose_groups_are_in_the_scope(
    store: PassStore, groups: tuple[str, ...], numbers: list[str]
) -> None:
    requesters: list[tuple[str, ...]] = [(), ("east",), ("east", "west"), ("east", "south")]
    for number, own_groups in enumerate(requesters):
        store.reader.record(Requester("anna", str(number), Scope(own_groups)), "search", {})
    entries = store.reader.searches(AuditQuery(), Scope(groups))
    assert [entry.why for entry in entries][::-1] == numbers


def test_hits_of_lists_that_others_use_are_not_shown(filled_store: PassStore) -> None:
    for name in ("guests", "staff"):
        filled_store.lists.create(name)
        filled_store.lists.put(name, [ListEntry("C001CC77", f"note of {name}")])
    filled_store.configure([Camera("gate", "rtsp://10.0.0.5/1", lists=("guests", "staff"))])
    filled_store.write([make_event("gate-3", text="C001CC77")], [])
    scope = replace(GATE_ONLY.scope, lists=frozenset({"guests"}))
    requester = replace(GATE_ONLY, scope=scope)
    assert [hit.note for hit in filled_store.get("gate-3", requester).hits] == ["note of guests"]
    (hits,) = filled_store.search(PassQuery(text="C001CC77"), requester).hits.values()
    assert [hit.note for hit in hits] == ["note of guests"]
    with pytest.raises(UnknownName, match="there is no list 'staff'"):
        filled_store.search(PassQuery(list_name="staff"), requester)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param("shared", SharedList, id="used by others, too"),
        pytest.param("theirs", NameTaken, id="used by others"),
        pytest.param("unmade", NameTaken, id="used by others, and not made yet"),
        pytest.param("unused", NameTaken, id="of others, and not used"),
    ],
)
def test_a_group_makes_no_list_of_others(
    store: PassStore, name: str, error: type[Exception]
) -> None:
    for list_name in ("shared", "theirs", "unused"):
        store.lists.create(list_name, "before")
    scope = Scope(
        ("east",),
        frozenset({"gate"}),
        frozenset({"shared"}),
        frozenset({"shared", "theirs", "unmade"}),
    )
    with pytest.raises(error):
        store.lists.save(name, "after", None, Requester("anna", "-", scope))
    assert {plate_list.note for plate_list in store.lists.describe(EVERYTHING)} == {"before"}
