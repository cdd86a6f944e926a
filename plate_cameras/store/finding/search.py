"""Searches passes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_finder import PassFinder
from plate_cameras.store.finding.pass_query import (
    FoundPass,
    PassDetails,
    PassPage,
    PassQuery,
    StoredHit,
    StoredReading,
    to_found,
)
from plate_cameras.store.finding.search_statements import (
    Dialect,
    other_conditions,
    plan_walks,
)
from plate_cameras.store.finding.text_patterns import TextCondition
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.schema import joined_passes, list_hits, lists, passes, readings

MAX_WALKS = 50
"""Cameras that are walked one by one. With more, a walk through all passes leaves others out."""


def search(connection: sa.Connection, query: PassQuery, scope: Scope) -> PassPage:
    """Return a page of the passes that a query finds, the newest first.

    Args:
        connection: A transaction.
        query: The query.
        scope: The cameras whose passes may be found.

    Raises:
        ParameterError: The text cannot be searched.
        UnknownName: There is no such list.
    """
    dialect = Dialect(connection.dialect.name == "postgresql")
    text = TextCondition.of(query)
    list_id = find_list(connection, query.list_name, scope) if query.list_name else None
    conditions = other_conditions(query, dialect, list_id)
    if scope.cameras is not None:
        conditions.append(dialect.unindexed(passes.c.camera).in_(scope.cameras))
        if not query.cameras and len(scope.cameras) <= MAX_WALKS:
            query = replace(query, cameras=(*sorted(scope.cameras),))
    if text:
        conditions.append(dialect.matches(dialect.unindexed_text(text), text))
    groups = plan_walks(query, text, list_id)
    finder = PassFinder(connection, dialect, query, text, conditions, groups)
    return _to_page(connection, query, finder.find(), scope)


def find_list(connection: sa.Connection, name: str, scope: Scope) -> int:
    """Return the number of a list.

    Raises:
        UnknownName: The name does not exist in the scope.
    """
    statement = sa.select(lists.c.id, lists.c.groups).where(lists.c.name == name)
    row = connection.execute(statement).first()
    if row is None or not scope.sees_list(name, row.groups):
        raise UnknownName(f"there is no list {name!r}")
    return int(row.id)


def read_details(connection: sa.Connection, pass_id: str, scope: Scope) -> PassDetails:
    """Return a pass with its readings and hits, by its id or a second one.

    Raises:
        UnknownName: There is none with this id in the scope.
    """
    second = sa.select(joined_passes.c.pass_number).where(joined_passes.c.id == pass_id)
    is_it = sa.or_(passes.c.id == pass_id, passes.c.number == second.scalar_subquery())
    found = connection.execute(sa.select(passes).where(is_it)).mappings().first()
    if found is None or not scope.sees(found["camera"]):
        raise UnknownName(f"there is no pass {pass_id!r}")
    return describe(connection, to_found(found), scope)


def describe(connection: sa.Connection, found_pass: FoundPass, scope: Scope) -> PassDetails:
    """Return a pass with its readings and hits."""
    columns = [one for one in readings.c if one.name not in ("pass_number", "position")]
    of_pass = sa.select(*columns).where(readings.c.pass_number == found_pass.number)
    rows = connection.execute(of_pass.order_by(readings.c.position)).mappings()
    hits = read_hits(connection, [found_pass.number], scope).get(found_pass.number, ())
    return PassDetails(found_pass, tuple(map(_to_reading, rows)), hits)


def read_hits(
    connection: sa.Connection, numbers: Sequence[int], scope: Scope
) -> dict[int, tuple[StoredHit, ...]]:
    """Return the hits of passes by their numbers, for those that have any in the scope."""
    columns = (lists.c.name, list_hits.c.entry_text, list_hits.c.note, list_hits.c.edits)
    statement = (
        sa.select(list_hits.c.pass_number, *columns)
        .join_from(list_hits, lists)
        .where(list_hits.c.pass_number.in_(numbers))
        .order_by(lists.c.name)
    )
    hits = defaultdict[int, tuple[StoredHit, ...]](tuple)
    for number, *values in connection.execute(statement) if numbers else ():
        hit = StoredHit(*values)
        hits[number] += (hit,) if scope.uses(hit.list) else ()
    return dict(hits)


def _to_page(
    connection: sa.Connection, query: PassQuery, rows: Iterable[Any], scope: Scope
) -> PassPage:
    """Merge the rows of all walks, without those that two walks have found."""
    by_number = {row["number"]: row for row in rows}
    newest = sorted(
        by_number.values(), key=lambda row: (row["first_seen_s"], row["number"]), reverse=True
    )
    found = tuple(map(to_found, newest[: query.limit]))
    cursor = found[-1].cursor if len(newest) > query.limit else ""
    return PassPage(found, cursor, read_hits(connection, [one.number for one in found], scope))


def _to_reading(row: Any) -> StoredReading:
    pairs = tuple((text, score) for text, score in row["candidates"])
    return StoredReading(**{**row, "candidates": pairs, "box": tuple(row["box"])})
