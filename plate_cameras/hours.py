"""Hours of a week, as the configuration gives them, and whether they include a moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import show
from plate_cameras.setting_sizes import check_sizes

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Schedule:
    """The hours in which a camera is watched or a gate opens, by the machine's local time.

    Attributes:
        days: Days of the week, `mon` to `sun`.
        start: First minute, `HH:MM`.
        end: First minute after it, `HH:MM`; before `start` if the hours go past midnight.
    """

    days: tuple[str, ...] = DAYS
    start: str = "00:00"
    end: str = "24:00"

    def __post_init__(self) -> None:
        for day in self.days:
            if day not in DAYS:
                raise SettingsError(f"days: wanted some of {', '.join(DAYS)}, got {show(day)}")
        to_minutes(self.start), to_minutes(self.end)
        check_sizes(self)


def to_minutes(text: str) -> int:
    """Return the minutes from midnight to a time of the form `HH:MM`; `24:00` ends a day.

    Raises:
        SettingsError: The text has another form.
    """
    if text == "24:00":
        return 24 * 60
    try:
        at = time.fromisoformat(text)
    except ValueError as error:
        raise SettingsError(f"schedule: wanted a time HH:MM, got {show(text)}") from error
    return at.hour * 60 + at.minute


def is_watched(schedule: Schedule, at: datetime) -> bool:
    """Tell whether a camera is watched at a local time.

    Hours past midnight belong to the day on which they start. If `start` and `end` are the same,
    the camera is watched for 24 hours from `start`.
    """
    start, end = to_minutes(schedule.start), to_minutes(schedule.end)
    minute = at.hour * 60 + at.minute
    today, yesterday = DAYS[at.weekday()], DAYS[at.weekday() - 1]
    if start < end:
        return today in schedule.days and start <= minute < end
    return (today in schedule.days and minute >= start) or (
        yesterday in schedule.days and minute < end
    )
