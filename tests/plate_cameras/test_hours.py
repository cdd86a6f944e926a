from datetime import datetime

import pytest

from plate_cameras.configuration import Schedule
from plate_cameras.setting_parts import is_watched

MONDAY, TUESDAY, SATURDAY = "2026-11-23", "2026-11-24", "2026-11-28"
WORK = Schedule(days=("mon", "tue"), start="08:00", end="18:00")
NIGHT = Schedule(days=("mon",), start="22:00", end="06:00")


@pytest.mark.parametrize(
    ("schedule", "at", "is_on"),
    [
        pytest.param(Schedule(), f"{SATURDAY}T23:59:59", True, id="always"),
        pytest.param(WORK, f"{MONDAY}T07:59:59", False, id="before the start"),
        pytest.param(WORK, f"{MONDAY}T08:00:00", True, id="first minute"),
        pytest.param(WORK, f"{MONDAY}T17:59:59", True, id="last minute"),
        pytest.param(WORK, f"{MONDAY}T18:00:00", False, id="at the end"),
        pytest.param(WORK, f"{SATURDAY}T12:00:00", False, id="another day"),
        pytest.param(NIGHT, f"{MONDAY}T21:59:00", False, id="before the night"),
        pytest.param(NIGHT, f"{MONDAY}T23:00:00", True, id="before midnight"),
        pytest.param(NIGHT, f"{TUESDAY}T05:59:00", True, id="after midnight"),
        pytest.param(NIGHT, f"{TUESDAY}T06:00:00", False, id="after the night"),
        pytest.param(NIGHT, f"{MONDAY}T03:00:00", False, id="the night of the day before"),
        pytest.param(
            Schedule(("mon",), "12:00", "12:00"), f"{TUESDAY}T11:59:00", True, id="24 hours"
        ),
        pytest.param(Schedule(days=()), f"{MONDAY}T12:00:00", False, id="no day"),
    ],
)
def test_a_camera_is_watched_in_its_hours(schedule: Schedule, at: str, is_on: bool) -> None:
    assert is_watched(schedule, datetime.fromisoformat(at)) is is_on
