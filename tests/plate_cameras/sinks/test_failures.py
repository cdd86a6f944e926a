"""Reasons of failures, and the log of outages."""

import pytest

from orchestrator.host.text_lines import MAX_CHARACTERS
from plate_cameras.sinks.receiver import MAX_WAIT_S, DeliveryError
from plate_cameras.sinks.sink_status import MAX_LINES, WITHIN_S, FailureLog


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("one\r\ntwo\u2028three\x1b[2J", "one two three [2J", id="lines-and-controls"),
        pytest.param("x" * MAX_CHARACTERS, "x" * MAX_CHARACTERS, id="longest"),
        pytest.param("x" * 10**6, "x" * (MAX_CHARACTERS - 3) + "...", id="too-long"),
    ],
)
def test_a_reason_is_one_short_line(message: str, reason: str) -> None:
    assert str(DeliveryError(message)) == reason


@pytest.mark.parametrize(
    ("asked_s", "wait_s"),
    [(17.0, 17.0), (-1.0, 0.0), (float("nan"), 0.0), (float("inf"), MAX_WAIT_S)],
)
def test_a_pause_is_a_day_at_most(asked_s: float, wait_s: float) -> None:
    assert DeliveryError("busy", asked_s).retry_after_s == wait_s


def test_the_kind_of_a_failure_has_no_details() -> None:
    assert DeliveryError("cannot post: Connection refused").kind == "cannot post"


def test_begin_change_and_end_of_each_outage_are_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FailureLog("cannot deliver", "delivers again")
    for reason in ("", "", "away", "away", "busy", "busy", "", "", "away"):
        log.note(reason)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "cannot deliver: away"),
        ("ERROR", "cannot deliver: busy"),
        ("WARNING", "delivers again"),
        ("ERROR", "cannot deliver: away"),
    ]


def test_what_fails_and_works_by_turns_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now_s = 0.0
    log = FailureLog("cannot deliver", "delivers again", lambda: now_s)
    for reason in ["away", ""] * 500:
        log.note(reason)
    assert len(caplog.messages) == MAX_LINES
    now_s = WITHIN_S - 1
    log.note("away")
    assert len(caplog.messages) == MAX_LINES
    now_s = WITHIN_S
    log.note("away")
    assert caplog.messages[MAX_LINES:] == ["cannot deliver: away"]
