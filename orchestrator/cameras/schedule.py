"""Tells whether a camera is watched at a given time."""

from __future__ import annotations

from datetime import datetime

from orchestrator.cameras.configuration import DAYS, Schedule, to_minutes


def is_watched(schedule: Schedule, now: datetime) -> bool:
    """Tell whether a camera is watched now.

    Hours past midnight belong to the day on which they began.

    Args:
        schedule: The camera's hours.
        now: Local time.
    """
    start, end = to_minutes(schedule.start), to_minutes(schedule.end)
    minute, today = now.hour * 60 + now.minute, now.weekday()
    if start < end:
        return DAYS[today] in schedule.days and start <= minute < end
    is_of_today = DAYS[today] in schedule.days and minute >= start
    is_of_yesterday = DAYS[today - 1] in schedule.days and minute < end
    return is_of_today or is_of_yesterday
