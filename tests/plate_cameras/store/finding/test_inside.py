"""Who is inside of a site, by the last pass of each plate."""

from dataclasses import replace
from typing import Any

import pytest

from plate_cameras.configuration import Site
from plate_cameras.passes import PassEvent
from plate_cameras.store.finding.inside import InsideQuery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.store.stored_events import NOW_S, make_event

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
        passed = replace(event.passed, **changes)
        events.append(PassEvent("closed", passed))
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
    page = store.reader.inside(site, QUERY, EVERYTHING)
    assert "".join(one.text[0] for one in page.passes) == inside


def test_pages_and_times_limit_the_answer(store: PassStore) -> None:
    store.write(make_passes("in:A in:B in:C in:E"), [])
    first = store.reader.inside(TWO, replace(QUERY, limit=3), EVERYTHING)
    second = store.reader.inside(TWO, replace(QUERY, limit=3, cursor=first.cursor), EVERYTHING)
    texts = [one.text[0] for page in (first, second) for one in page.passes]
    assert (texts, second.cursor) == (["E", "C", "B", "A"], "")
    some = replace(QUERY, from_s=NOW_S - 495, until_s=NOW_S - 475)
    assert [one.text[0] for one in store.reader.inside(TWO, some, EVERYTHING).passes] == ["C", "B"]
