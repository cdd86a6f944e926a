"""The outbox, alike in both databases."""

from __future__ import annotations

import pytest

from orchestrator.cameras.sinks.outbox import Delivery
from orchestrator.cameras.store.pass_store import PassStore
from tests.cameras.store.stored_events import NOW_S, WEBHOOK, make_event


@pytest.fixture
def outbox_store(store: PassStore) -> PassStore:
    """Return a store with two deliveries of the pass `a` and one of `b`."""
    events = [make_event("a", kind="agreed"), make_event("a"), make_event("b")]
    store.write(events, [WEBHOOK])
    return store


def claim(store: PassStore, now_s: float = NOW_S, limit: int = 10) -> list[Delivery]:
    return store.outbox.claim("webhook", limit, now_s, 60)


def ids(deliveries: list[Delivery]) -> list[str]:
    return [one.id for one in deliveries]


def test_an_empty_outbox_gives_nothing(store: PassStore) -> None:
    assert claim(store) == []


def test_a_passes_events_are_given_out_in_order(outbox_store: PassStore) -> None:
    first = claim(outbox_store)
    assert ids(first) == ["a_agreed_0", "b_closed_0"]
    outbox_store.outbox.confirm(first[:1], NOW_S)

    assert ids(claim(outbox_store)) == ["a_closed_0"]


def test_the_oldest_is_given_out_first(outbox_store: PassStore) -> None:
    assert ids(claim(outbox_store, limit=1)) == ["a_agreed_0"]


def test_nobody_else_gets_a_claimed_delivery_until_its_lease_ends(
    outbox_store: PassStore,
) -> None:
    claim(outbox_store)

    assert claim(outbox_store, NOW_S + 59) == []
    again = claim(outbox_store, NOW_S + 60)
    assert ids(again) == ["a_agreed_0", "b_closed_0"]
    assert [one.attempts for one in again] == [1, 1]


def test_a_postponed_delivery_holds_the_later_ones_of_its_pass(outbox_store: PassStore) -> None:
    first = claim(outbox_store)[0]
    outbox_store.outbox.postpone(first, "503", NOW_S + 300)

    assert ids(claim(outbox_store, NOW_S + 299)) == ["b_closed_0"]
    again = claim(outbox_store, NOW_S + 300)
    assert [(one.id, one.attempts) for one in again if one.id[0] == "a"] == [("a_agreed_0", 1)]


def test_an_abandoned_delivery_holds_nobody(outbox_store: PassStore) -> None:
    outbox_store.outbox.abandon(claim(outbox_store)[0], "410", NOW_S)

    assert ids(claim(outbox_store)) == ["a_closed_0"]


def test_a_confirmed_delivery_cannot_be_postponed(outbox_store: PassStore) -> None:
    second = claim(outbox_store)[1]
    outbox_store.outbox.confirm([second], NOW_S)
    outbox_store.outbox.postpone(second, "late", NOW_S)

    assert ids(claim(outbox_store, NOW_S + 60)) == ["a_agreed_0"]


def test_what_is_replayed_is_due_again(outbox_store: PassStore) -> None:
    for one in claim(outbox_store):
        outbox_store.outbox.confirm([one], NOW_S)
    outbox_store.outbox.abandon(claim(outbox_store)[0], "410", NOW_S)

    assert outbox_store.outbox.replay("webhook", NOW_S, NOW_S + 5) == 3
    again = claim(outbox_store, NOW_S + 5)
    assert [(one.id, one.attempts) for one in again] == [("a_agreed_0", 0), ("b_closed_0", 0)]


def test_a_replay_leaves_older_deliveries_and_other_sinks_alone(outbox_store: PassStore) -> None:
    assert outbox_store.outbox.replay("webhook", NOW_S + 1, NOW_S) == 0
    assert outbox_store.outbox.replay("file", 0, NOW_S) == 0


def test_a_released_delivery_was_not_attempted(outbox_store: PassStore) -> None:
    first = claim(outbox_store)[0]
    outbox_store.outbox.release(first, NOW_S + 5)

    assert claim(outbox_store, NOW_S + 4) == []
    again = claim(outbox_store, NOW_S + 5)
    assert [(one.id, one.attempts) for one in again] == [("a_agreed_0", 0)]


def test_failed_deliveries_are_due_when_the_receiver_answers_again(
    outbox_store: PassStore,
) -> None:
    first, second = claim(outbox_store)
    outbox_store.outbox.postpone(first, "503", NOW_S + 3000)
    outbox_store.outbox.hasten("other", NOW_S + 1)
    assert claim(outbox_store, NOW_S + 1) == []
    outbox_store.outbox.hasten("webhook", NOW_S + 1)
    assert ids(claim(outbox_store, NOW_S + 1)) == [first.id]
    outbox_store.outbox.confirm([second], NOW_S + 1)


def test_deliveries_that_wait_are_counted(outbox_store: PassStore) -> None:
    assert outbox_store.outbox.waiting("webhook") == 3
    outbox_store.outbox.confirm(claim(outbox_store)[:1], NOW_S)
    assert outbox_store.outbox.waiting("webhook") == 2
    assert outbox_store.outbox.waiting("other") == 0
