import pytest

from tests.plate_cameras.sinks.deliveries import make_delivery
from tests.plate_cameras.sinks.memory_outbox import MemoryOutbox

FIRST, SECOND = make_delivery(1), make_delivery(2)


@pytest.fixture
def outbox() -> MemoryOutbox:
    outbox = MemoryOutbox()
    outbox.add([SECOND, FIRST])
    return outbox


def test_the_oldest_come_first_and_only_once(outbox: MemoryOutbox) -> None:
    assert outbox.claim("erp", 1, now_s=10, lease_s=5) == [FIRST]
    assert outbox.claim("erp", 9, now_s=10, lease_s=5) == [SECOND]
    assert outbox.claim("erp", 9, now_s=14, lease_s=5) == []


def test_a_lease_runs_out(outbox: MemoryOutbox) -> None:
    outbox.claim("erp", 9, now_s=10, lease_s=5)
    assert outbox.claim("erp", 9, now_s=15, lease_s=5) == [FIRST, SECOND]


def test_other_sinks_have_their_own(outbox: MemoryOutbox) -> None:
    outbox.add([make_delivery(1, sink="mqtt")])
    assert [one.sink for one in outbox.claim("mqtt", 9, 10, 5)] == ["mqtt"]
    assert outbox.claim("none", 9, 10, 5) == []


def test_an_id_is_delivered_once_however_often_it_is_added(outbox: MemoryOutbox) -> None:
    outbox.confirm([FIRST], now_s=10)
    outbox.add([FIRST])
    assert outbox.claim("erp", 9, 10, 5) == [SECOND]


def test_a_failed_delivery_is_due_later_and_counts_its_attempts(outbox: MemoryOutbox) -> None:
    outbox.postpone(FIRST, "away", due_s=30)
    assert outbox.claim("erp", 9, now_s=29, lease_s=5) == [SECOND]
    assert [one.attempts for one in outbox.claim("erp", 9, now_s=30, lease_s=1)] == [1]


def test_a_released_delivery_has_no_more_attempts(outbox: MemoryOutbox) -> None:
    outbox.release(FIRST, due_s=30)
    assert outbox.claim("erp", 1, now_s=30, lease_s=1) == [FIRST]


def test_postponed_deliveries_are_due_when_the_receiver_answers_again(
    outbox: MemoryOutbox,
) -> None:
    outbox.postpone(FIRST, "away", due_s=1000)
    outbox.claim("erp", 9, now_s=10, lease_s=5)
    outbox.hasten("erp", now_s=11)
    assert [one.id for one in outbox.claim("erp", 9, now_s=11, lease_s=5)] == [FIRST.id]


def test_events_of_a_pass_wait_for_the_earlier_ones() -> None:
    outbox = MemoryOutbox()
    agreed = make_delivery(1, pass_id="a", kind="agreed")
    closed = make_delivery(2, pass_id="a", kind="closed")
    outbox.add([closed, agreed])
    outbox.postpone(agreed, "away", due_s=30)
    assert outbox.claim("erp", 9, now_s=10, lease_s=5) == []
    outbox.confirm([agreed], now_s=30)
    assert outbox.claim("erp", 9, now_s=30, lease_s=5) == [closed]


def test_an_abandoned_delivery_returns_only_by_a_replay(outbox: MemoryOutbox) -> None:
    outbox.abandon(FIRST, "too old", now_s=10)
    outbox.confirm([SECOND], now_s=10)
    assert outbox.claim("erp", 9, 10, 5) == []
    assert outbox.replay("erp", since_s=2, now_s=20) == 1
    assert outbox.claim("erp", 9, 20, 5) == [SECOND]
