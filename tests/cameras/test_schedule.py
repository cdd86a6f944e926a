from datetime import datetime

import pytest

from orchestrator.cameras.configuration import Schedule
from orchestrator.cameras.schedule import is_watched

WORK = Schedule(("mon", "fri"), "06:00", "22:00")
NIGHTS = Schedule(("fri",), "22:00", "06:00")
MONDAY, FRIDAY, SATURDAY, SUNDAY = 23, 27, 28, 29  # November 2026


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute)


@pytest.mark.parametrize(
    ("schedule", "now", "wanted"),
    [
        pytest.param(Schedule(), at(SUNDAY, 0), True, id="always-first-minute"),
        pytest.param(Schedule(), at(SUNDAY, 23, 59), True, id="always-last-minute"),
        pytest.param(WORK, at(MONDAY, 5, 59), False, id="before"),
        pytest.param(WORK, at(MONDAY, 6), True, id="start"),
        pytest.param(WORK, at(MONDAY, 21, 59), True, id="last-minute"),
        pytest.param(WORK, at(MONDAY, 22), False, id="end"),
        pytest.param(WORK, at(SATURDAY, 12), False, id="other-day"),
        pytest.param(NIGHTS, at(FRIDAY, 21, 59), False, id="before-the-night"),
        pytest.param(NIGHTS, at(FRIDAY, 22), True, id="night"),
        pytest.param(NIGHTS, at(FRIDAY, 5), False, id="morning-before"),
        pytest.param(NIGHTS, at(SATURDAY, 5, 59), True, id="morning-after"),
        pytest.param(NIGHTS, at(SATURDAY, 6), False, id="night-is-over"),
        pytest.param(NIGHTS, at(SUNDAY, 5), False, id="a-day-later"),
        pytest.param(Schedule(("sun",), "22:00", "06:00"), at(MONDAY, 1), True, id="sunday"),
    ],
)
def test_hours(schedule: Schedule, now: datetime, wanted: bool) -> None:
    assert is_watched(schedule, now) is wanted
