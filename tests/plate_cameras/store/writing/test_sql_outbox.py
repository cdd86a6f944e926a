"""The outbox, alike in both databases."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from plate_cameras.sinks.outbox import Delivery
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import deliveries
from plate_cameras.store.writing.sql_outbox import SqlOutbox
from tests.plate_cameras.store.stored_events import NOW_S, WEBHOOK, make_event


@pytest.fixture
def outbox_store(store: PassStore) -> PassStore:
    """Return a store with two deliveries of the pass `a` and one of `b`."""
    events = [make_event("a", kind="agreed"), make_event("a"), make_event("b")]
    store.write(events, [WEBHOOK])
    return store


def claim(store: PassStore, now_s: float = NOW_S, limit: int = 10) -> list[Delivery]:
    return store.outbox.claim("webhook", limit, now_s, 60)


def ids(deliveries: list[Delivery]) -> list[str]:
    return [delivery.id for delivery in deliveries]


def test_a_passes_events_are_given_out_in_order(outbox_store: PassStore) -> None:
    first = claim(outbox_store)
    assert ids(first) == ["a_agreed_0", "b_closed_0"]
    outbox_store.outbox.confirm(first[:1], NOW_S)

    assert ids(claim(outbox_store)) == ["a_closed_0"]


def test_nobody_else_gets_a_claimed_delivery_until_its_lease_ends(
    outbox_store: PassStore,
) -> None:
    claim(outbox_store)

    assert claim(outbox_store, NOW_S + 59) == []
    again = claim(outbox_store, NOW_S + 60)
    assert ids(again) == ["a_agreed_0", "b_closed_0"]
    assert [delivery.attempts for delivery in again] == [1, 1]


@pytest.mark.parametrize(
    ("act", "due_s", "attempts"),
    [
        pytest.param(
            lambda outbox, delivery, due_s: outbox.postpone(delivery, "503", due_s), 50, 1, id="503"
        ),
        pytest.param(
            lambda outbox, delivery, due_s: outbox.release(delivery, due_s), 5, 0, id="release"
        ),
    ],
)
def test_a_postponed_delivery_holds_the_later_ones_of_its_pass(
    outbox_store: PassStore,
    act: Callable[[SqlOutbox, Delivery, float], None],
    due_s: float,
    attempts: int,
) -> None:
    act(outbox_store.outbox, claim(outbox_store)[0], NOW_S + due_s)
    assert claim(outbox_store, NOW_S + due_s - 1) == []
    again = claim(outbox_store, NOW_S + due_s)
    assert [(delivery.id, delivery.attempts) for delivery in again] == [("a_agreed_0", attempts)]


def test_a_damaged_delivery_is_abandoned_and_holds_nobody(
    outbox_store: PassStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    damage = sa.update(deliveries).where(deliveries.c.id == "a_agreed_0").values(document=[])
    with database.writing() as connection:
        connection.execute(damage)
        if not database.is_postgresql:  # which takes nothing else than JSON
            connection.execute(
                sa.text("UPDATE deliveries SET document = '{' WHERE document = '[]'")
            )
    assert ids(claim(outbox_store)) == ["b_closed_0"]
    assert "gave up a_agreed_0: its document is damaged" in caplog.text
    assert ids(claim(outbox_store)) == ["a_closed_0"]


def test_an_abandoned_delivery_holds_nobody_and_a_replay_leaves_others_alone(
    outbox_store: PassStore,
) -> None:
    outbox_store.outbox.abandon(claim(outbox_store)[0], "410", NOW_S)
    assert ids(claim(outbox_store)) == ["a_closed_0"]
    assert outbox_store.outbox.replay("webhook", NOW_S + 1, NOW_S) == 0
    assert outbox_store.outbox.replay("file", 0, NOW_S) == 0


def test_failed_deliveries_are_due_when_the_receiver_answers_again(
    outbox_store: PassStore,
) -> None:
    first = claim(outbox_store)[0]
    outbox_store.outbox.postpone(first, "503", NOW_S + 3000)
    outbox_store.outbox.hasten("other", NOW_S + 1)
    assert claim(outbox_store, NOW_S + 1) == []
    outbox_store.outbox.hasten("webhook", NOW_S + 10)
    outbox_store.outbox.hasten("webhook", NOW_S + 20)  # it delays nothing
    assert ids(claim(outbox_store, NOW_S + 10)) == [first.id]
    assert ids(claim(outbox_store, NOW_S + 59)) == []


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda outbox, delivery: outbox.release(delivery, NOW_S), id="release"),
        pytest.param(
            lambda outbox, delivery: outbox.postpone(delivery, "503", NOW_S), id="postpone"
        ),
        pytest.param(
            lambda outbox, delivery: outbox.abandon(delivery, "too large", NOW_S), id="abandon"
        ),
    ],
)
def test_a_deliverer_whose_lease_has_ended_cannot_touch_what_another_one_sends(
    outbox_store: PassStore, act: Callable[[SqlOutbox, Delivery], None]
) -> None:
    late = claim(outbox_store)[0]
    current = claim(outbox_store, NOW_S + 60)[0]
    act(outbox_store.outbox, late)

    assert claim(outbox_store, NOW_S + 119) == []
    assert [delivery.attempts for delivery in claim(outbox_store, NOW_S + 120)] == [2, 2]
    assert current.attempts == 1


def test_an_event_counts_as_accepted_however_late_its_deliverer_is(outbox_store: PassStore) -> None:
    late = claim(outbox_store)[0]
    claim(outbox_store, NOW_S + 60)
    outbox_store.outbox.confirm([late], NOW_S + 61)

    assert ids(claim(outbox_store, NOW_S + 61)) == ["a_closed_0"]


def test_what_is_replayed_while_it_is_sent_is_not_postponed(outbox_store: PassStore) -> None:
    first = claim(outbox_store)[0]
    outbox_store.outbox.replay("webhook", 0, NOW_S + 1)
    outbox_store.outbox.postpone(first, "503", NOW_S + 3000)

    assert first.id in ids(claim(outbox_store, NOW_S + 1))


def test_no_more_than_the_limit_is_claimed_the_longest_due_first(store: PassStore) -> None:
    store.write([make_event(f"p{at}") for at in range(4)], [WEBHOOK])
    first = claim(store, limit=1)[0]
    store.outbox.postpone(first, "503", NOW_S + 1)

    assert ids(claim(store, NOW_S + 1, limit=2)) == ["p1_closed_0", "p2_closed_0"]
    assert ids(claim(store, NOW_S + 1, limit=2)) == ["p0_closed_0", "p3_closed_0"]
