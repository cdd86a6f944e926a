"""Who is inside of a site, by the last pass of each plate."""

from dataclasses import replace
from typing import Any

import pytest

from plate_cameras.configuration import Site
from plate_cameras.passes import PassEvent
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.inside import InsideQuery, SiteCounts
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.store.stored_events import NOW_S, REQUESTER, make_event

TWO = Site("yard", ("in",), ("out",))
ONE = Site("yard", ("gate",), ("gate",))
BACK = replace(ONE, entry_direction="away")
MIXED = Site("yard", ("in", "gate"), ("gate",))
QUERY = InsideQuery(NOW_S - 1000)


def make_passes(story: str) -> list[PassEvent]:
    """Return passes, ten seconds apart: `in:A out:B gate-towards:A` are cameras and plates."""
    events = []
    for at, part in enumerate(story.split()):
        where, _, text = part.partition(":")
        camera, _, direction = where.partition("-")
        event = make_event(f"p{at}", text and f"{text}123BC77", camera=camera)
        seen_s = NOW_S - 500 + 10 * at
        times_s = {"first_seen_s": seen_s, "last_seen_s": seen_s + 1}
        changes: dict[str, Any] = {**times_s, "direction": direction}
        vehicle_pass = replace(event.vehicle_pass, **changes)
        events.append(PassEvent("closed", vehicle_pass))
    return events


@pytest.mark.parametrize(
    ("site", "story", "inside"),
    [
        pytest.param(TWO, "", "", id="nobody"),
        pytest.param(TWO, "in:A in:B out:A", "B", id="one-has-left"),
        pytest.param(TWO, "out:A in:A", "A", id="came-back"),
        pytest.param(TWO, "in:A in:A", "A", id="once-though-seen-twice"),
        pytest.param(TWO, "in:A gate:A other:A", "A", id="other-cameras"),
        pytest.param(TWO, "in: in:A", "A", id="unread"),
        pytest.param(TWO, "in:A in:B in:C", "CBA", id="newest-first"),
        pytest.param(ONE, "gate-towards:A gate-towards:B gate-away:A", "B", id="direction"),
        pytest.param(ONE, "gate-towards:A gate-:A", "A", id="without-direction"),
        pytest.param(BACK, "gate-away:A gate-towards:B", "A", id="entry-away"),
        pytest.param(MIXED, "in-away:A in:B gate-away:B gate-towards:C", "CA", id="mixed"),
    ],
)
def test_the_last_pass_decides(store: PassStore, site: Site, story: str, inside: str) -> None:
    store.write(make_passes(story), [])
    page = store.inside.page(site, QUERY, REQUESTER)
    assert "".join(found_pass.text[0] for found_pass in page.passes) == inside
    store.inside.count([site])
    assert store.inside.counts == {"yard": SiteCounts(len(inside), 0)}


def test_pages_and_times_limit_the_answer(store: PassStore) -> None:
    store.write(make_passes("in:A in:B in:C in:E"), [])
    first = store.inside.page(TWO, replace(QUERY, limit=3), REQUESTER)
    second = store.inside.page(TWO, replace(QUERY, limit=3, cursor=first.cursor), REQUESTER)
    texts = [found_pass.text[0] for page in (first, second) for found_pass in page.passes]
    assert (texts, second.cursor) == (["E", "C", "B", "A"], "")
    query = replace(QUERY, from_s=NOW_S - 495, until_s=NOW_S - 475)
    page = store.inside.page(TWO, query, REQUESTER)
    assert [found_pass.text[0] for found_pass in page.passes] == ["C", "B"]


def test_who_stays_too_long_is_counted(store: PassStore) -> None:
    store.write(make_passes("in:A in:B in:C out:A"), [])
    site = replace(TWO, max_stay_hours=485 / 3600)
    store.inside.count([site])
    assert store.inside.counts == {"yard": SiteCounts(2, 1)}
    overstays = InsideQuery.of(site, NOW_S, overstays=True)
    page = store.inside.page(site, overstays, REQUESTER)
    assert [found_pass.text[0] for found_pass in page.passes] == ["B"]
    store.inside.count([])
    assert store.inside.counts == {}


def texts_of(store: PassStore, site: Site = TWO) -> str:
    return "".join(entry.text[0] for entry in store.inside.page(site, QUERY, REQUESTER).passes)


def test_who_has_left_is_inside_no_more_until_it_comes_again(store: PassStore) -> None:
    other = replace(TWO, name="other")
    store.write(make_passes("in:A in:B"), [])
    for _ in range(2):
        store.inside.mark_left(TWO, "p0", REQUESTER)
    assert (texts_of(store), texts_of(store, other)) == ("B", "BA")
    store.inside.mark_inside(TWO, "p0", REQUESTER)
    assert texts_of(store) == "BA"
    store.inside.mark_left(TWO, "p0", REQUESTER)
    store.write(make_passes("other:C other:C in:A")[2:], [])
    assert texts_of(store) == "AB"


def test_only_an_entry_can_have_left(store: PassStore) -> None:
    store.write(make_passes("in:A out:A"), [])
    for pass_id in ("p1", "nothing"):
        with pytest.raises(UnknownName, match=pass_id):
            store.inside.mark_left(TWO, pass_id, REQUESTER)


def test_looks_and_marks_are_in_the_audit(store: PassStore) -> None:
    store.write(make_passes("in:A in:B"), [])
    by_page = replace(REQUESTER, is_automatic=True)
    first = store.inside.page(TWO, replace(QUERY, limit=1), REQUESTER)
    store.inside.page(TWO, replace(QUERY, limit=1, cursor=first.cursor), REQUESTER)
    store.inside.page(TWO, QUERY, by_page)
    store.inside.mark_left(TWO, "p0", REQUESTER)
    store.inside.page(TWO, replace(QUERY, until_s=NOW_S), by_page)
    entries = store.reader.searches(AuditQuery(), EVERYTHING)
    assert [(entry.kind, entry.query, entry.count) for entry in reversed(entries)] == [
        ("inside", {"site": "yard"}, 2),
        ("mark left", {"site": "yard", "id": "p0"}, 1),
        ("inside", {"site": "yard", "overstays": True, "automatic": True}, 1),
    ]
