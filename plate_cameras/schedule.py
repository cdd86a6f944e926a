"""Hours of a camera or a gate: whether they include a moment."""

from __future__ import annotations

from datetime import datetime

from plate_cameras.hours import DAYS, Schedule, to_minutes


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
