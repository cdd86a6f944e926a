"""Searches, alike in both databases."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.configuration import Camera
from plate_cameras.store.finding import search as pass_finder
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING, Scope
from tests.plate_cameras.store.stored_events import (
    NOW_S,
    REQUESTER,
    find_ids,
    make_event,
    with_pictures,
)

CYRILLIC = "\u0430123\u0432\u044177"
"""The text of `a` in small Cyrillic letters."""
YARD = Scope(("west",), frozenset({"yard"}))


@pytest.fixture(scope="module")
def filled_store(empty_store: PassStore) -> PassStore:
    """Return a store that tests only read."""
    fill(empty_store)
    return empty_store


def fill(store: PassStore) -> None:
    """Write four passes, of which `a` is the oldest, and one without a text."""
    store.lists.create("residents")
    store.lists.put("residents", [ListEntry("M001MM199")])
    store.configure([Camera("yard", "rtsp://yard", lists=("residents",))])
    first_s = NOW_S - 1000
    store.write(
        [
            make_event("a", "A123BC77", first_seen_s=first_s),
            make_event("b", "A123BC177", first_seen_s=first_s + 1, direction="away"),
            make_event("c", "M001MM199", camera="yard", first_seen_s=first_s + 2, zones=()),
            make_event("d", "K777KK50", camera="yard", first_seen_s=first_s + 3, zones=("x", "y")),
            make_event("e", "", first_seen_s=first_s + 4, format=""),
        ],
        [],
    )


# Texts, parts, edits, cameras and times: see `test_search_oracle.py`.
QUERIES = [
    pytest.param({}, "edcba", id="everything, newest first"),
    pytest.param({"text": CYRILLIC}, "a", id="Cyrillic"),
    pytest.param({"text": " a123 bc77 "}, "a", id="small letters and spaces"),
    pytest.param({"text": "A123BC7"}, "a", id="some of the characters"),
    pytest.param({"text": '"A123BC7"'}, "", id="the whole in quotes"),
    pytest.param({"text": '"A123 BC77 RUS"'}, "a", id="quotes and the country"),
    pytest.param({"text": "*"}, "edcba", id="any text"),
    pytest.param({"parts": ("Q",)}, "", id="one character that is nowhere"),
    pytest.param({"parts": ("K", "5")}, "d", id="two parts of one character"),
    pytest.param({"text": "A*", "parts": ("C17",)}, "b", id="prefix and part"),
    pytest.param({"text": "B128BC77", "edits": 1}, "", id="two replaced, one allowed"),
    pytest.param({"text": "A123BC88", "edits": 2}, "a", id="both last replaced"),
    pytest.param({"cameras": ("yard", "gate")}, "edcba", id="two cameras"),
    pytest.param({"region_code": "77"}, "a", id="region"),
    pytest.param({"list_name": "residents"}, "c", id="list"),
    pytest.param({"zones": ("x",)}, "d", id="zone"),
    pytest.param({"zones": ("x", "y", "drive")}, "edba", id="one of three zones"),
    pytest.param({"direction": "away"}, "b", id="direction"),
    pytest.param({"text": "A1*", "cameras": ("yard",)}, "", id="prefix at another camera"),
    pytest.param({"text": "A1*", "region_code": "177"}, "b", id="prefix and region"),
    pytest.param({"zones": ("x",), "cameras": ("gate",)}, "", id="zone at another camera"),
    pytest.param({"list_name": "residents", "text": "*MM*"}, "c", id="list and text"),
]


@pytest.mark.parametrize(("conditions", "ids"), QUERIES)
def test_a_search_finds(filled_store: PassStore, conditions: dict[str, Any], ids: str) -> None:
    assert "".join(find_ids(filled_store, PassQuery(**conditions))) == ids


@pytest.mark.parametrize(("conditions", "ids"), QUERIES)
def test_frequent_texts_are_found_by_a_walk(
    filled_store: PassStore, monkeypatch: pytest.MonkeyPatch, conditions: dict[str, Any], ids: str
) -> None:
    monkeypatch.setattr(pass_finder, "RARE", -1)
    monkeypatch.setattr(pass_finder, "RARE_LATELY", -1)
    monkeypatch.setattr(pass_finder, "FIRST_STEPS", 1)

    assert "".join(find_ids(filled_store, PassQuery(**conditions))) == ids


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param({}, id="walk"),
        pytest.param({"text": "*7*"}, id="walk with text"),
        pytest.param({"parts": ("BC1",)}, id="looked up"),
        pytest.param({"cameras": ("gate", "yard")}, id="two walks"),
        pytest.param({"text": "A123BC77"}, id="whole text"),
    ],
)
def test_pages_follow_each_other(store: PassStore, conditions: dict[str, Any]) -> None:
    fill(store)
    store.write([make_event(f"f{at}", "A123BC177", first_seen_s=NOW_S) for at in range(5)], [])
    everything = find_ids(store, PassQuery(**conditions))

    first = store.search(PassQuery(**conditions, limit=1), REQUESTER)
    rest = store.search(PassQuery(**conditions, limit=50, cursor=first.cursor or "0_0"), REQUESTER)

    assert [found_pass.id for found_pass in first.passes + rest.passes] == everything
    assert rest.cursor == ""


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        pytest.param({"text": "A%"}, "letters and digits", id="other wildcard"),
        pytest.param({"text": 'A"'}, "letters and digits", id="quote"),
        pytest.param({"text": "A1*", "edits": 1}, "without", id="edits of a pattern"),
        pytest.param({"text": "A12377", "edits": 2}, "7 characters or more", id="too short"),
        pytest.param({"text": "A123BC77", "edits": 3}, "0 to 2", id="three edits"),
        pytest.param({"cursor": "next"}, "cursor", id="cursor"),
    ],
)
def test_what_cannot_be_searched_is_said(
    filled_store: PassStore, conditions: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        filled_store.search(PassQuery(**conditions), REQUESTER)


def test_a_search_needs_a_reason() -> None:
    with pytest.raises(ParameterError, match="why"):
        Requester("officer", " ")


@pytest.mark.parametrize(
    ("number", "scope", "ids"),
    [
        pytest.param(3, EVERYTHING, "8 7 6 5 4 2 1 0", id="of the same plate"),
        pytest.param(99, EVERYTHING, "104 103 102 101 100 98 97 96 95 94 93 92 91 90", id="next"),
        pytest.param(119, EVERYTHING, "118 117 116 115 114 113 112 111 110", id="last"),
        pytest.param(3, YARD, "13 11 9 7 5 1", id="of the cameras in the scope"),
    ],
)
def test_neighbours_are_the_next_and_the_last_passes_of_the_plate(
    store: PassStore, number: int, scope: Scope, ids: str
) -> None:
    """Two passes are seen at each time, one at the gate and one in the yard."""
    events = [
        make_event(f"{at}", first_seen_s=NOW_S + at // 2, camera=("gate", "yard")[at % 2])
        for at in range(120)
    ]
    store.write([*(with_pictures(event, b"crop") for event in events), make_event("x", "B7")], [])
    requester = replace(REQUESTER, scope=scope)
    neighbours = store.get(f"{number}", requester, neighbours=True).neighbours
    assert [found_pass.id for found_pass in neighbours] == ids.split()
