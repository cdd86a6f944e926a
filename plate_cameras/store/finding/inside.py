"""Who is inside of a site: vehicles whose last pass there was an entry."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from plate_cameras.setting_parts import DIRECTIONS, Site
from plate_cameras.store.finding.pass_query import LIMIT, PassPage, parse_cursor, to_found
from plate_cameras.store.finding.search import read_hits
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.schema import passes


@dataclass(frozen=True)
class InsideQuery:
    """The wanted vehicles.

    Attributes:
        from_s: Unix time of the oldest entry that counts.
        until_s: Unix time; vehicles that came earlier. None for all.
    """

    from_s: float
    until_s: float | None = None
    limit: int = LIMIT
    cursor: str = ""


def find_inside(
    connection: sa.Connection, site: Site, query: InsideQuery, scope: Scope
) -> PassPage:
    """Return a page of the passes by which vehicles came in, the newest first."""
    later = passes.alias("later")
    place, later_place = (
        sa.tuple_(table.c.first_seen_s, table.c.number) for table in (passes, later)
    )
    has_moved = sa.exists().where(
        later.c.text == passes.c.text, later_place > place, _moves(later, site, is_entry=None)
    )
    statement = sa.select(passes).where(
        passes.c.first_seen_s >= query.from_s,
        passes.c.text != "",
        _moves(passes, site, is_entry=True),
        ~has_moved,
    )
    if query.until_s is not None:
        statement = statement.where(passes.c.first_seen_s < query.until_s)
    if (after := parse_cursor(query.cursor)) is not None:
        statement = statement.where(place < sa.tuple_(*after))
    order = passes.c.first_seen_s.desc(), passes.c.number.desc()
    rows = connection.execute(statement.order_by(*order).limit(query.limit + 1)).mappings().all()
    entries = tuple(map(to_found, rows[: query.limit]))
    cursor = entries[-1].cursor if len(rows) > query.limit else ""
    return PassPage(
        entries, cursor, read_hits(connection, [entry.number for entry in entries], scope)
    )


def _moves(table: sa.FromClause, site: Site, *, is_entry: bool | None) -> sa.ColumnElement[bool]:
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
        told = sa.and_(table.c.camera.in_(both), table.c.direction == direction)
        conditions.append(told)
    return sa.or_(*conditions)
