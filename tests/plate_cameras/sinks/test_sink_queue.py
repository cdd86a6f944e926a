"""One sink whose receiver follows a script; its clocks are moved by hand."""

import asyncio
import contextlib
import random
from dataclasses import replace

import pytest

from plate_cameras.sinks import receiver as receiver_module
from plate_cameras.sinks.claims import GIVE_UP_S, MIN_ATTEMPTS
from plate_cameras.sinks.receiver import DeliveryError, ReceiverGone, Undeliverable
from plate_cameras.sinks.sink_queue import MAX_REST_S
from tests.plate_cameras.sinks.receivers import (
    AWAY,
    ActingReceiver,
    ScriptedReceiver,
    SinkSite,
    hang,
    ids,
    make_delivery,
)


def test_events_are_delivered_in_their_order_and_counted_seldom() -> None:
    site = SinkSite(ScriptedReceiver(), 30)
    assert [site.deliver() for _ in range(3)] == [0, 0, 0]
    assert site.receiver.received_ids == ids(*range(30))
    assert (site.outbox.calls["waiting"], site.queue.status.waiting) == (1, 30)
    assert site.deliver() > 0
    assert (site.outbox.calls["waiting"], site.queue.status.waiting) == (2, 0)
    assert (site.queue.status.delivered, site.receiver.idle_times) == (30, 1)


def test_one_bad_event_does_not_stop_the_others() -> None:
    site = SinkSite(ScriptedReceiver(DeliveryError("status 400")), 3)
    site.deliver()
    assert site.receiver.received_ids == ids(1, 2)
    assert not site.queue.is_resting
    assert site.outbox.next_due_s("erp") > site.now_s
    site.deliver(after_s=5)
    assert site.receiver.received_ids == ids(1, 2, 0)


def test_some_bad_events_among_good_ones_are_no_outage() -> None:
    site = SinkSite(ScriptedReceiver(AWAY, AWAY, at_once=4), 8)
    site.deliver()
    assert (len(site.receiver.received_ids), site.queue.is_resting) == (6, False)


def test_a_sink_that_is_away_rests_longer_and_longer_and_loses_nothing() -> None:
    site = SinkSite(ScriptedReceiver(*[AWAY] * 40), 25)
    pauses = [site.deliver()]
    assert site.queue.is_resting
    for _ in range(60):
        pauses.append(site.deliver(after_s=max(pauses[-1], 60)))
    assert MAX_REST_S / 2 <= max(pauses) <= MAX_REST_S
    assert sorted(site.receiver.received_ids) == sorted(ids(*range(25)))
    assert (site.queue.status.failed_attempts, site.queue.status.last_error) == (40, "")


def test_several_failures_at_once_are_one_outage() -> None:
    site = SinkSite(ScriptedReceiver(*[AWAY] * 4, at_once=4), 10)
    assert 2.5 <= site.deliver() <= 5
    assert (site.queue.is_resting, site.queue.status.failed_attempts) == (True, 4)
    site.deliver(after_s=60)
    assert (site.receiver.max_under_way, len(site.receiver.received_ids)) == (4, 10)


def test_a_receiver_may_ask_for_a_pause() -> None:
    site = SinkSite(ScriptedReceiver(DeliveryError("busy", retry_after_s=90)), 1)
    assert site.deliver() == 90
    site.deliver(after_s=89)
    assert site.receiver.received_ids == []
    site.deliver(after_s=1)
    assert site.receiver.received_ids == ids(0)


@pytest.mark.parametrize(
    "receiver",
    [
        pytest.param(ScriptedReceiver(ReceiverGone("410")), id="at first"),
        pytest.param(
            ScriptedReceiver(DeliveryError("busy"), ReceiverGone("410"), at_once=4),
            id="amid others",
        ),
    ],
)
def test_a_receiver_that_is_gone_gets_no_more_until_it_is_enabled(
    receiver: ScriptedReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    site = SinkSite(receiver, [replace(make_delivery(number), attempts=9) for number in range(9)])
    site.deliver()
    received_ids = [*receiver.received_ids]
    assert site.deliver(after_s=60) > 0
    assert (receiver.received_ids, site.queue.status.is_disabled) == (received_ids, True)
    assert site.outbox.waiting("erp") == 9 - len(received_ids)
    assert caplog.messages == ["sink erp wants no more events: 410"]
    site.queue.enable()
    site.deliver()
    assert sorted(receiver.received_ids) == ids(*range(9))


@pytest.mark.parametrize(
    ("attempts", "age_s", "is_given_up"),
    [
        pytest.param(MIN_ATTEMPTS, GIVE_UP_S + 1, True, id="old-and-tried-often"),
        pytest.param(MIN_ATTEMPTS - 1, GIVE_UP_S + 1, False, id="old"),
        pytest.param(MIN_ATTEMPTS, GIVE_UP_S, False, id="tried-often"),
    ],
)
def test_an_event_is_given_up_and_told_when_it_is_old_and_was_tried_often(
    attempts: int, age_s: float, *, is_given_up: bool, caplog: pytest.LogCaptureFixture
) -> None:
    old = replace(make_delivery(0), attempts=attempts)
    site = SinkSite(ScriptedReceiver(AWAY), [old, make_delivery(1)])
    site.now_s = age_s
    site.deliver()
    assert site.receiver.received_ids == ids(1)
    assert site.queue.status.abandoned == is_given_up
    assert site.outbox.waiting("erp") == (not is_given_up)
    assert (caplog.messages == ["sink erp: gave up pass-0-closed: away"]) == is_given_up


def test_an_event_that_cannot_be_delivered_is_given_up_at_once() -> None:
    site = SinkSite(ScriptedReceiver(Undeliverable("too large")), 2)
    site.deliver()
    assert site.receiver.received_ids == ids(1)
    assert (site.queue.status.abandoned, site.queue.is_resting) == (1, False)


def test_what_fails_is_told_once_and_when_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    refusal, busy = DeliveryError("cannot post: Connection refused"), DeliveryError("busy")
    site = SinkSite(ScriptedReceiver(refusal, refusal, refusal, busy), 9)
    site.deliver()
    status = site.queue.status
    assert (status.last_error, status.failure) == (str(refusal), "cannot post")
    for _ in range(5):
        site.deliver(after_s=60)
    status = site.queue.status
    assert (status.delivered, status.last_error, status.failure) == (9, "", "")
    assert caplog.messages == [
        "sink erp cannot deliver: cannot post: Connection refused",
        "sink erp cannot deliver: busy",
        "sink erp delivers again",
    ]


def test_the_pauses_of_an_event_grow_to_half_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda _, longest: longest)
    assert [find_pause_s(attempts) for attempts in (0, 1, 5, 20)] == [5, 10, 160, 12 * 3600]
    monkeypatch.setattr(random, "uniform", lambda shortest, _: shortest)
    assert [find_pause_s(attempts) for attempts in (0, 20)] == [2.5, 6 * 3600]


def find_pause_s(attempts: int) -> float:
    """Return the seconds until an event is due again after a further failure."""
    site = SinkSite(ScriptedReceiver(AWAY), [replace(make_delivery(0), attempts=attempts)])
    site.deliver()
    return site.outbox.next_due_s("erp") - site.now_s


async def cling() -> None:
    """Wait for ever, and ignore the first cancellation."""
    with contextlib.suppress(asyncio.CancelledError):
        await hang()
    await hang()


@pytest.mark.parametrize(
    ("receiver", "reason"),
    [
        pytest.param(ScriptedReceiver(KeyError("secret")), "KeyError", id="another-exception"),
        pytest.param(
            ScriptedReceiver(asyncio.CancelledError()), "CancelledError", id="cancels-itself"
        ),
        pytest.param(ScriptedReceiver(SystemExit(2)), "SystemExit", id="ends-the-process"),
        pytest.param(ActingReceiver(hang), "no answer within 0.05 s", id="hangs"),
        pytest.param(ActingReceiver(cling), "no answer within 0.05 s", id="clings"),
    ],
)
def test_whatever_a_receiver_does_is_a_failed_attempt(
    receiver: ScriptedReceiver, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver_module, "SEND_LIMIT_S", 0.05)
    site = SinkSite(receiver, 1)
    site.deliver()
    assert (site.queue.status.failed_attempts, site.queue.status.last_error) == (1, reason)
    assert site.outbox.claim("erp", 9, site.now_s + 5, 60) != []


def test_a_receiver_that_hangs_while_nothing_waits_does_not_hold_the_sink(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiver_module, "SEND_LIMIT_S", 0.05)
    site = SinkSite(ScriptedReceiver(), 0)
    monkeypatch.setattr(site.receiver, "idle", hang)
    site.deliver()
    site.outbox.add([make_delivery(1)])
    site.deliver()
    assert site.receiver.received_ids == ids(1)
