"""Reads of the store that the control room needs beside searches: counts, pictures and audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Literal

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import PassPage, PassQuery, Requester
from plate_cameras.store.finding.search import search
from plate_cameras.store.people import audit
from plate_cameras.store.people.audit import AuditQuery, RecordedSearch
from plate_cameras.store.scope import EVERYTHING, Scope
from plate_cameras.store.tables.columns import NUMBER
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import passes, searches

HOUR_S = 3600


@dataclass(frozen=True)
class CountQuery:
    """The passes to count.

    Attributes:
        from_s: Unix time; passes that were first seen then or later.
        until_s: Unix time; passes that were first seen earlier.
        cameras: Names of cameras; all if empty.
        offset_s: Seconds that local time is ahead of UTC.
        limit: Most counts; None for all.
        after: Key of the last count of the page before.
    """

    from_s: float | None = None
    until_s: float | None = None
    cameras: tuple[str, ...] = ()
    offset_s: int = 0
    limit: int | None = None
    after: str = ""


@dataclass(frozen=True)
class HourCount:
    """The passes of one hour.

    Attributes:
        day: The day, `2026-11-25`.
        hour: The hour, 0 to 23.
    """

    day: str
    hour: int
    count: int

    @property
    def key(self) -> str:
        return f"{self.day}T{self.hour:02}"


@dataclass(frozen=True)
class CameraCount:
    """The passes of one camera."""

    camera: str
    count: int

    @property
    def key(self) -> str:
        return self.camera


def count_by_hour(connection: sa.Connection, query: CountQuery, scope: Scope) -> list[HourCount]:
    """Return the counts of all hours that have passes, in their order.

    The index of times leads from one hour with passes to the next one, and each hour is counted
    in the index. A GROUP BY over all hours would sort all passes.
    """
    if query.after:
        from_s = _end_of(query.after) - query.offset_s
        query = replace(query, from_s=max(from_s, query.from_s or from_s))
    time_s, in_time = passes.c.first_seen_s, _in_time(query)
    # Not the hour of min(): SQLite's floor() of NULL is an error.
    first = sa.select(_hour(time_s, query)).where(*in_time).order_by(time_s).limit(1)
    hours = sa.select(first.scalar_subquery().label("hour")).cte("hours", recursive=True)
    ends = (hours.c.hour + 1) * HOUR_S - query.offset_s
    following = sa.select(_hour(time_s, query)).where(time_s >= ends, *in_time)
    following = following.order_by(time_s).limit(1)
    step = sa.select(following.scalar_subquery()).where(hours.c.hour.is_not(None))
    hours = hours.union_all(step)
    starts, ends = (hours.c.hour + offset for offset in (0, 1))
    count_statement = sa.select(sa.func.count()).where(
        time_s >= starts * HOUR_S - query.offset_s,
        time_s < ends * HOUR_S - query.offset_s,
        *_conditions(query, scope),
    )
    count = count_statement.scalar_subquery()
    statement = sa.select(hours.c.hour, count).where(hours.c.hour.is_not(None))
    if query.cameras or scope != EVERYTHING:  # else each hour has passes
        statement = statement.where(count > 0)
    return [_to_hour(*row) for row in connection.execute(statement.limit(query.limit))]


def _hour(time_s: sa.ColumnElement[float], query: CountQuery) -> sa.ColumnElement[int]:
    return sa.cast(sa.func.floor((time_s + query.offset_s) / HOUR_S), NUMBER)


def count_by_camera(
    connection: sa.Connection, query: CountQuery, scope: Scope
) -> list[CameraCount]:
    """Return the counts of all cameras that have passes, by their names."""
    camera = passes.c.camera
    statement = sa.select(camera, sa.func.count()).where(*_conditions(query, scope))
    if query.after:
        statement = statement.where(camera > query.after)
    statement = statement.group_by(camera).order_by(camera).limit(query.limit)
    rows = connection.execute(statement)
    return [CameraCount(*row) for row in rows]


def _conditions(query: CountQuery, scope: Scope) -> list[sa.ColumnElement[bool]]:
    conditions = _in_time(query)
    if query.cameras:
        conditions.append(passes.c.camera.in_(query.cameras))
    if scope.cameras is not None:
        conditions.append(passes.c.camera.in_(scope.cameras))
    return conditions


def _in_time(query: CountQuery) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if query.from_s is not None:
        conditions.append(passes.c.first_seen_s >= query.from_s)
    if query.until_s is not None:
        conditions.append(passes.c.first_seen_s < query.until_s)
    return conditions


def _to_hour(hours: int, count: int) -> HourCount:
    at = datetime.fromtimestamp(hours * HOUR_S, timezone.utc)
    return HourCount(at.date().isoformat(), at.hour, count)


def _end_of(hour: str) -> float:
    """Return the Unix time of the end of an hour, from its key."""
    try:
        start = datetime.strptime(hour, "%Y-%m-%dT%H").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise ParameterError(f"cursor: wanted one of a page, got {hour!r}") from error
    return start.timestamp() + HOUR_S


class StoreReader:
    """Reads for people and programs that may see some cameras only.

    Args:
        clock: Returns the Unix time.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def record(self, requester: Requester, kind: str, query: Mapping[str, Any]) -> int:
        """Begin an entry of the audit, whose count comes later. Return its number."""
        with self._database.writing() as connection:
            now_s = self._clock()
            return audit.record(connection, requester, kind, query, count=0, now_s=now_s)

    def count(self, entry: int, count: int) -> None:
        """Complete an entry of the audit."""
        with self._database.writing() as connection:
            update = sa.update(searches).where(searches.c.number == entry)
            connection.execute(update.values(count=count))

    def has_passes(self) -> bool:
        """Tell whether there is any pass."""
        with self._database.reading() as connection:
            return connection.execute(sa.select(passes.c.number).limit(1)).first() is not None

    def page(self, query: PassQuery, requester: Requester) -> PassPage:
        """Return a page of a search that `record` has recorded."""
        with self._database.reading() as connection:
            return search(connection, query, requester.scope)

    def count_by_hour(self, query: CountQuery, scope: Scope) -> list[HourCount]:
        """Return the counts of passes of each hour that has any."""
        with self._database.reading() as connection:
            return count_by_hour(connection, query, scope)

    def count_by_camera(self, query: CountQuery, scope: Scope) -> list[CameraCount]:
        """Return the counts of passes of each camera that has any."""
        with self._database.reading() as connection:
            return count_by_camera(connection, query, scope)

    def picture_of(self, pass_id: str, kind: Literal["crop", "frame"], scope: Scope) -> str:
        """Return the hash of a picture of a pass.

        Raises:
            UnknownName: There is no such pass or picture, or it is not in the scope.
        """
        statement = sa.select(passes.c.camera, passes.c[kind]).where(passes.c.id == pass_id)
        with self._database.reading() as connection:
            row = connection.execute(statement).first()
        if row is None or not row[1] or not scope.sees(row[0]):
            raise UnknownName(f"there is no {kind} of pass {pass_id!r}")
        return str(row[1].hex())

    def searches(self, query: AuditQuery, scope: Scope) -> list[RecordedSearch]:
        """Return entries of the audit, the newest first."""
        with self._database.reading() as connection:
            return audit.read(connection, query, scope)
