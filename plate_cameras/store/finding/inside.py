"""The vehicles inside a site: those whose last pass there was an entry.

An exit may not be read. So a person can say that a vehicle has left; its entry counts no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from plate_cameras.setting_parts import DIRECTIONS, Site
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import (
    LIMIT,
    PassPage,
    Requester,
    parse_cursor,
)
from plate_cameras.store.finding.search import read_hits
from plate_cameras.store.finding.stored_rows import cursor_after, to_found_pass
from plate_cameras.store.people import audit
from plate_cameras.store.tables.database import SEARCH_S, Database, insert
from plate_cameras.store.tables.schema import departures, passes

DAY_S, HOUR_S = 86400.0, 3600.0
KIND, LEFT, NOT_LEFT = "inside", "mark left", "mark inside"
"""Kinds of entries of the audit."""


@dataclass(frozen=True)
class InsideQuery:
    """A search for the vehicles inside a site.

    Attributes:
        from_s: Unix time of the oldest entry that counts.
        until_s: Unix time; vehicles that came earlier. None for all.
    """

    from_s: float
    until_s: float | None = None
    limit: int = LIMIT
    cursor: str = ""

    @classmethod
    def of(cls, site: Site, now_s: float, *, overstays: bool = False) -> InsideQuery:
        """Return the query for the vehicles of a site at a time, or for its overstays.

        If no stay is too long, the query finds no overstay.
        """
        from_s = now_s - DAY_S * site.forget_days
        limit_s = HOUR_S * site.max_stay_hours if site.max_stay_hours else math.inf
        return cls(from_s, now_s - limit_s if overstays else None)


@dataclass(frozen=True)
class SiteCounts:
    """The number of vehicles that are inside of a site, and of those that stay too long."""

    inside: int
    overstays: int


class VehiclesInside:
    """The vehicles that are inside of sites. Calls may block.

    Args:
        clock: Returns the Unix time.

    Attributes:
        counts: The last counts of this process, by the names of sites.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock
        self.counts: Mapping[str, SiteCounts] = {}

    def page(self, site: Site, query: InsideQuery, requester: Requester) -> PassPage:
        """Return a page of the entries of vehicles, and record the search in the audit."""
        place = passes.c.first_seen_s, passes.c.number
        statement = sa.select(passes).where(*_conditions(site, query))
        if (after := parse_cursor(query.cursor)) is not None:
            statement = statement.where(sa.tuple_(*place) < sa.tuple_(*after))
        statement = statement.order_by(*(column.desc() for column in place)).limit(query.limit + 1)
        with self._database.reading(SEARCH_S) as connection:
            rows = connection.execute(statement).mappings().all()
            entries = tuple(map(to_found_pass, rows[: query.limit]))
            hits = read_hits(connection, [entry.number for entry in entries], requester.scope)
        audit_query: dict[str, object] = {"site": site.name}
        audit_query |= {"overstays": True} if query.until_s is not None else {}
        audit_query |= {"cursor": query.cursor} if query.cursor else {}
        with self._database.writing() as connection:
            self._note(connection, requester, KIND, audit_query, len(entries))
        cursor = cursor_after(rows[query.limit - 1]) if len(rows) > query.limit else ""
        return PassPage(entries, cursor, hits)

    def count(self, sites: Iterable[Site]) -> None:
        """Count the vehicles of sites, and forget the counts of others."""
        self.counts = {site.name: self._count(site) for site in sites}

    def _count(self, site: Site) -> SiteCounts:
        now_s = self._clock()
        until_s = InsideQuery.of(site, now_s, overstays=True).until_s
        columns = sa.func.count(), sa.func.count().filter(passes.c.first_seen_s < until_s)
        statement = sa.select(*columns).where(*_conditions(site, InsideQuery.of(site, now_s)))
        with self._database.reading(SEARCH_S) as connection:
            return SiteCounts(*connection.execute(statement).one())

    def mark_left(self, site: Site, pass_id: str, requester: Requester) -> None:
        """Note that the vehicle of an entry has left.

        Raises:
            UnknownName: The site has no such entry.
        """
        with self._database.writing() as connection:
            row = {"site": site.name, "pass_number": _find_entry(connection, site, pass_id)}
            connection.execute(insert(connection, departures).values(row).on_conflict_do_nothing())
            self._note(connection, requester, LEFT, {"site": site.name, "id": pass_id})

    def mark_inside(self, site: Site, pass_id: str, requester: Requester) -> None:
        """Take `mark_left` back.

        Raises:
            UnknownName: The site has no such entry.
        """
        with self._database.writing() as connection:
            number = _find_entry(connection, site, pass_id)
            columns = departures.c
            mark = (columns.site == site.name, columns.pass_number == number)
            connection.execute(sa.delete(departures).where(*mark))
            self._note(connection, requester, NOT_LEFT, {"site": site.name, "id": pass_id})

    def _note(
        self,
        connection: sa.Connection,
        requester: Requester,
        kind: str,
        query: dict[str, object],
        count: int = 1,
    ) -> None:
        audit.record(connection, requester, kind, query, count=count, now_s=self._clock())


def _find_entry(connection: sa.Connection, site: Site, pass_id: str) -> int:
    statement = sa.select(passes.c.number).where(
        passes.c.id == pass_id, _is_move(passes, site, is_entry=True)
    )
    number = connection.scalar(statement)
    if number is None:
        raise UnknownName(f"site {site.name}: there is no entry {pass_id!r}")
    return int(number)


def _conditions(site: Site, query: InsideQuery) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that a pass is the entry of a vehicle that is inside."""
    later = passes.alias("later")
    place, later_place = (
        sa.tuple_(table.c.first_seen_s, table.c.number) for table in (passes, later)
    )
    has_moved = sa.exists().where(
        later.c.text == passes.c.text, later_place > place, _is_move(later, site, is_entry=None)
    )
    has_left = sa.exists().where(
        departures.c.pass_number == passes.c.number, departures.c.site == site.name
    )
    conditions = [
        passes.c.first_seen_s >= query.from_s,
        passes.c.text != "",
        _is_move(passes, site, is_entry=True),
        ~has_moved,
        ~has_left,
    ]
    if query.until_s is not None:
        conditions.append(passes.c.first_seen_s < query.until_s)
    return conditions


def _is_move(table: sa.FromClause, site: Site, *, is_entry: bool | None) -> sa.ColumnElement[bool]:
    """Return the condition that a pass is an entry, or an exit; either for None."""
    both = {*site.entries} & {*site.exits}
    exit_direction = next(name for name in DIRECTIONS[1:] if name != site.entry_direction)
    sides = [(site.entries, site.entry_direction), (site.exits, exit_direction)]
    if is_entry is not None:
        sides = sides[:1] if is_entry else sides[1:]
    conditions: list[sa.ColumnElement[bool]] = []
    for cameras, direction in sides:
        alone = [name for name in cameras if name not in both]
        conditions.append(table.c.camera.in_(alone))
        conditions.append(sa.and_(table.c.camera.in_(both), table.c.direction == direction))
    return sa.or_(*conditions)
