"""Log messages about failures and recoveries."""

import pytest

from plate_cameras.sinks.sink_status import MAX_LINES, WITHIN_S, FailureLog


class Outage:
    """A failure log with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.log = FailureLog("sink erp cannot deliver", "sink erp delivers again", self.read_clock)

    def read_clock(self) -> float:
        return self.now_s

    def note(self, *reasons: str) -> None:
        for reason in reasons:
            self.log.note(reason)


def test_what_works_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    Outage().note("", "")
    assert caplog.messages == []


def test_begin_change_and_end_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    Outage().note("", "away", "away", "busy", "busy", "", "")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "sink erp cannot deliver: away"),
        ("ERROR", "sink erp cannot deliver: busy"),
        ("WARNING", "sink erp delivers again"),
    ]


def test_a_second_outage_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    Outage().note("away", "", "away")
    assert len(caplog.messages) == 3


def test_what_fails_and_works_by_turns_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outage = Outage()
    outage.note(*["away", ""] * 500)
    assert len(caplog.messages) == MAX_LINES
    outage.now_s = WITHIN_S - 1
    outage.note("away")
    assert len(caplog.messages) == MAX_LINES
    outage.now_s = WITHIN_S
    outage.note("away")
    assert caplog.messages[MAX_LINES:] == ["sink erp cannot deliver: away"]
