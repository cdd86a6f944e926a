"""Reasons of failures in logs, metrics and the database."""

import pytest

from plate_cameras.sinks.receiver import MAX_CHARACTERS, MAX_WAIT_S, DeliveryError


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("status 500", "status 500", id="as-it-is"),
        pytest.param("one\r\ntwo\u2028three\x1b[2J", "one two three [2J", id="lines-and-controls"),
        pytest.param("x" * MAX_CHARACTERS, "x" * MAX_CHARACTERS, id="longest"),
        pytest.param("x" * 10**6, "x" * (MAX_CHARACTERS - 3) + "...", id="too-long"),
    ],
)
def test_a_reason_is_one_short_line(message: str, reason: str) -> None:
    assert str(DeliveryError(message)) == reason


@pytest.mark.parametrize(
    ("asked_s", "wait_s"),
    [
        pytest.param(17.0, 17.0, id="some"),
        pytest.param(-1.0, 0.0, id="negative"),
        pytest.param(float("nan"), 0.0, id="no-number"),
        pytest.param(float("inf"), MAX_WAIT_S, id="for-ever"),
    ],
)
def test_a_pause_is_a_day_at_most(asked_s: float, wait_s: float) -> None:
    assert DeliveryError("busy", asked_s).retry_after_s == wait_s


def test_the_kind_of_a_failure_has_no_details() -> None:
    assert DeliveryError("cannot post: Connection refused").kind == "cannot post"
    assert DeliveryError("status 500").kind == "status 500"
