"""Retention with a moved clock, alike in both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.cameras.configuration import Camera
from orchestrator.cameras.store import retention
from orchestrator.cameras.store.errors import UnknownName
from orchestrator.cameras.store.list_lookup import ListEntry
from orchestrator.cameras.store.pass_query import PassQuery
from orchestrator.cameras.store.pass_store import PassStore
from tests.cameras.store.stored_events import (
    DAY_S,
    NOW_S,
    REQUESTER,
    WEBHOOK,
    find_ids,
    make_event,
)


def test_passes_are_kept_for_thirty_days(store: PassStore) -> None:
    store.write([make_event("a", first_seen_s=NOW_S)], [])

    assert store.delete_expired(NOW_S + 30 * DAY_S).passes == 0
    counts = store.delete_expired(NOW_S + 30 * DAY_S + 2)
    assert (counts.passes, counts.pictures) == (1, 2)
    assert find_ids(store, PassQuery()) == []


def test_all_that_belongs_to_a_pass_goes_along(store: PassStore) -> None:
    store.write([make_event("a")], [WEBHOOK])
    crop = store.get("a", REQUESTER).found.crop or ""
    store.delete_expired(NOW_S + 31 * DAY_S)

    assert store.outbox.claim("webhook", 9, NOW_S, 60) == []
    assert find_ids(store, PassQuery(parts=("123",))) == []
    with pytest.raises(UnknownName):
        store.picture(crop)


def test_many_passes_go_in_small_steps(store: PassStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    store.write([make_event(f"{at}", first_seen_s=NOW_S + at) for at in range(5)], [])
    store.write([make_event("new", first_seen_s=NOW_S + DAY_S)], [])

    assert store.delete_expired(NOW_S + 30 * DAY_S + 60).passes == 5
    assert find_ids(store, PassQuery()) == ["new"]


def test_a_camera_may_have_its_own_time(store: PassStore) -> None:
    store.configure([Camera("yard", "rtsp://yard", retention_days=1)])
    store.write([make_event("a"), make_event("b", camera="yard")], [])
    store.delete_expired(NOW_S + 2 * DAY_S)

    assert find_ids(store, PassQuery()) == ["a"]


@pytest.mark.parametrize(
    ("days", "kept"),
    [
        pytest.param((1.0, None), "", id="shorter than the camera's"),
        pytest.param((60.0, None), "ab", id="longer"),
        pytest.param((1.0, 60.0), "ab", id="the longer one of two"),
        pytest.param((None, None), "ab", id="none"),
    ],
)
def test_a_list_may_have_its_own_time(
    store: PassStore, days: tuple[float | None, float | None], kept: str
) -> None:
    store.lists.create("one", retention_days=days[0])
    store.lists.create("two", retention_days=days[1])
    store.lists.put("one", [ListEntry("A123BC77")])
    store.lists.put("two", [ListEntry("A123BC77")])
    store.configure([Camera("gate", "rtsp://gate", lists=("one", "two"))])
    store.write([make_event("a"), make_event("b")], [])
    store.delete_expired(NOW_S + 2 * DAY_S)

    assert "".join(sorted(find_ids(store, PassQuery()))) == kept


def test_a_list_keeps_passes_longer_than_their_camera(store: PassStore) -> None:
    store.lists.create("wanted", retention_days=90)
    store.lists.put("wanted", [ListEntry("A123BC77")])
    store.configure([Camera("gate", "rtsp://gate", lists=("wanted",))])
    store.write([make_event("a"), make_event("b", "K777KK50")], [])
    store.delete_expired(NOW_S + 60 * DAY_S)

    assert find_ids(store, PassQuery()) == ["a"]


def test_the_age_of_a_file_counts_from_its_storing(store: PassStore) -> None:
    store.write([make_event("a", first_seen_s=5.0, clock="file")], [])
    store.delete_expired(NOW_S + 29 * DAY_S)
    assert find_ids(store, PassQuery()) == ["a"]

    assert store.delete_expired(NOW_S + 31 * DAY_S).passes == 1


def test_a_picture_stays_while_another_pass_shows_it(store: PassStore) -> None:
    first, second = make_event("a"), make_event("b", first_seen_s=NOW_S + DAY_S)
    best = replace(second.passed.best, frame_jpeg=first.passed.best.frame_jpeg)
    store.write([first, replace(second, passed=replace(second.passed, best=best))], [])
    frame = store.get("a", REQUESTER).found.frame or ""

    assert store.delete_expired(NOW_S + 30 * DAY_S + 60).pictures == 1
    assert store.picture(frame) == b"frame a"
    assert store.delete_expired(NOW_S + 32 * DAY_S).pictures == 2


def test_finished_deliveries_are_kept_for_a_week(store: PassStore) -> None:
    store.write([make_event("a"), make_event("b")], [WEBHOOK])
    store.outbox.confirm(store.outbox.claim("webhook", 1, NOW_S, 60), NOW_S)

    assert store.delete_expired(NOW_S + 6 * DAY_S).deliveries == 0
    assert store.delete_expired(NOW_S + 8 * DAY_S).deliveries == 1
    assert store.outbox.replay("webhook", 0, NOW_S) == 1
