"""Counts of passes by hour and by camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store.schema import NUMBER, passes

HOUR_S = 3600


@dataclass(frozen=True)
class CountQuery:
    """The passes to count.

    Attributes:
        from_s: Unix time; passes that were first seen then or later.
        until_s: Unix time; passes that were first seen earlier.
        cameras: Names of cameras; all if empty.
        offset_s: Seconds that local time is ahead of UTC.
    """

    from_s: float | None = None
    until_s: float | None = None
    cameras: tuple[str, ...] = ()
    offset_s: int = 0


@dataclass(frozen=True)
class HourCount:
    """The passes of one hour.

    Attributes:
        day: The day, `2026-11-25`.
        hour: The hour, 0 to 23.
        count: Their number.
    """

    day: str
    hour: int
    count: int


@dataclass(frozen=True)
class CameraCount:
    """The passes of one camera."""

    camera: str
    count: int


def count_by_hour(
    connection: sa.Connection, query: CountQuery, shown: Sequence[str] | None
) -> list[HourCount]:
    """Return the counts of all hours that have passes, in their order."""
    hours = sa.func.floor((passes.c.first_seen_s + query.offset_s) / HOUR_S)
    hour = sa.cast(hours, NUMBER).label("hour")
    statement = sa.select(hour, sa.func.count()).where(*_conditions(query, shown))
    return [_to_hour(*row) for row in connection.execute(statement.group_by(hour).order_by(hour))]


def count_by_camera(
    connection: sa.Connection, query: CountQuery, shown: Sequence[str] | None
) -> list[CameraCount]:
    """Return the counts of all cameras that have passes, by their names."""
    camera = passes.c.camera
    statement = sa.select(camera, sa.func.count()).where(*_conditions(query, shown))
    rows = connection.execute(statement.group_by(camera).order_by(camera))
    return [CameraCount(*row) for row in rows]


def _conditions(query: CountQuery, shown: Sequence[str] | None) -> list[sa.ColumnElement[bool]]:
    conditions: list[Any] = []
    if query.from_s is not None:
        conditions.append(passes.c.first_seen_s >= query.from_s)
    if query.until_s is not None:
        conditions.append(passes.c.first_seen_s < query.until_s)
    if query.cameras:
        conditions.append(passes.c.camera.in_(query.cameras))
    if shown is not None:
        conditions.append(passes.c.camera.in_(shown))
    return conditions


def _to_hour(hours: int, count: int) -> HourCount:
    at = datetime.fromtimestamp(hours * HOUR_S, timezone.utc)
    return HourCount(at.date().isoformat(), at.hour, count)
