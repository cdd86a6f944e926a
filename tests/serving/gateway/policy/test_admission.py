"""Admission of calls: by free slots and by priority; no slot is ever lost."""

from contextlib import ExitStack

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.errors import QuotaExceeded, ServiceFull
from orchestrator.serving.gateway.options import MIB, Limits
from orchestrator.serving.gateway.policy.admission import Admission, Counts, RateLimit
from tests.serving.gateway.stories import (
    NOTHING,
    admission,
    client,
    enter,
    enter_often,
    take_each_second,
)
from tests.virtual_time import Clock


def test_calls_at_once_have_to_be_known() -> None:
    with pytest.raises(SettingsError, match="calls: wanted 1 or more, got 0"):
        Admission(Limits(calls=0))


def test_a_call_counts_until_its_end_or_failure() -> None:
    admitting = admission()
    assert admitting.counts() == NOTHING
    with enter(admitting, client(), 7):
        assert admitting.counts() == Counts(inside=1, waiting=0, in_work=0, delayed=0, bytes=7)
    with pytest.raises(KeyError), enter(admitting, client(), 7):
        raise KeyError
    assert admitting.counts() == NOTHING


@pytest.mark.parametrize(("rate", "at_once"), [(2.0, 2), (0.5, 1)])
def test_one_second_of_calls_may_come_at_once_and_the_next_when_the_refusal_said(
    rate: float, at_once: int
) -> None:
    admitting = admission(clock := Clock())
    enter_often(admitting, client(rate=rate), at_once)
    message = rf"calls a second: wanted at most {rate:g}, got more"
    with pytest.raises(QuotaExceeded, match=message) as refused:
        enter_often(admitting, client(rate=rate), 1)
    assert refused.value.retry_after_s == pytest.approx(1 / rate)
    clock.now += 1 / rate
    enter_often(admitting, client(rate=rate), 1)
    with pytest.raises(QuotaExceeded, match="calls a second"):
        enter_often(admitting, client(rate=rate), 1)


def test_a_rate_is_the_clients_own() -> None:
    admitting = admission()
    enter_often(admitting, client("a", rate=1.0), 1)
    enter_often(admitting, client("b", rate=1.0), 1)
    with pytest.raises(QuotaExceeded, match="calls a second"):
        enter_often(admitting, client("a", rate=1.0), 1)


def test_a_call_that_finds_no_room_costs_nothing_of_the_rate() -> None:
    admitting = admission(calls=1, waiting=1)
    others = enter(admitting, client("b"), 0), enter(admitting, client("c"), 0)
    with others[0], others[1], pytest.raises(ServiceFull, match="places"):
        enter_often(admitting, client(rate=1.0), 1)
    enter_often(admitting, client(rate=1.0), 1)
    assert admitting.counts() == NOTHING


def test_a_client_has_so_many_calls_at_once() -> None:
    admitting = admission()
    with enter(admitting, client("a", calls=1), 0):
        enter_often(admitting, client("b", calls=1), 1)
        with pytest.raises(
            QuotaExceeded, match="at once: wanted at most 1, got one more"
        ) as refused:
            enter_often(admitting, client("a", calls=1), 1)
    assert refused.value.retry_after_s == 1.0
    enter_often(admitting, client("a", calls=1), 1)


def test_no_more_come_in_than_work_and_wait() -> None:
    admitting = admission(calls=1, waiting=2)
    with ExitStack() as inside:
        [inside.enter_context(enter(admitting, client(name), 0)) for name in "abc"]
        with pytest.raises(ServiceFull, match="all places are taken") as refused:
            enter_often(admitting, client("d"), 1)
    assert refused.value.retry_after_s == 1.0
    enter_often(admitting, client("d"), 1)


def test_the_bodies_together_are_bounded() -> None:
    admitting = admission(memory_mb=1)
    with enter(admitting, client("a"), MIB - 1):
        with enter(admitting, client("b"), 1):
            assert admitting.counts().bytes == MIB
        with (
            pytest.raises(ServiceFull, match="memory for bodies"),
            enter(admitting, client("b"), 2),
        ):
            pass


def test_one_clients_bodies_fill_half_of_the_memory() -> None:
    admitting = admission(memory_mb=1)
    with enter(admitting, client("a"), MIB // 2):
        with pytest.raises(QuotaExceeded, match="got half"), enter(admitting, client("a"), 1):
            pass
        with enter(admitting, client("b"), MIB // 2):
            assert admitting.counts().bytes == MIB


def test_one_body_may_be_as_large_as_the_memory() -> None:
    admitting = admission(memory_mb=1)
    with enter(admitting, client(), MIB):
        assert admitting.counts().bytes == MIB


def test_full_buckets_are_forgotten() -> None:
    rates = RateLimit()
    take_each_second(rates, 100_000)
    assert len(rates) <= 1000


def test_a_bucket_that_is_not_full_is_kept() -> None:
    rates = RateLimit()
    rates.take(client("slow", rate=0.00001), 0.0)
    take_each_second(rates, 5000)
    with pytest.raises(QuotaExceeded) as refused:
        rates.check(client("slow", rate=0.00001), 5000.0)
    assert refused.value.retry_after_s == pytest.approx(95_000.0)
