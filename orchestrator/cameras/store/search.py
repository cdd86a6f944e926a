"""Searches passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store.errors import UnknownName
from orchestrator.cameras.store.pass_query import (
    FoundPass,
    PassDetails,
    PassPage,
    PassQuery,
    StoredHit,
    StoredReading,
    to_found,
)
from orchestrator.cameras.store.schema import list_hits, lists, passes, readings
from orchestrator.cameras.store.search_statements import (
    RARE,
    Dialect,
    TextCondition,
    Walk,
    chosen_statement,
    other_conditions,
    plan_walks,
    reach_statement,
    walk_statement,
)

LOOK_UP = ("enable_seqscan = off", "jit = off")
WALK = (*LOOK_UP, "enable_sort = off", "enable_bitmapscan = off")
"""PostgreSQL guesses how many texts match. We know it, and so forbid what the other guess needs."""


def search(connection: sa.Connection, query: PassQuery) -> PassPage:
    """Return a page of the passes that a query finds, the newest first.

    Raises:
        ParameterError: The text cannot be searched.
        UnknownName: There is no such list.
    """
    dialect = Dialect(connection.dialect.name == "postgresql")
    text = TextCondition.of(query)
    list_id = find_list(connection, query.list_name) if query.list_name else None
    conditions = other_conditions(query, dialect, list_id)
    numbers = _look_up(connection, dialect, text)
    if numbers is not None:
        _set(connection, LOOK_UP)
        chosen = chosen_statement(dialect, numbers, query, conditions)
        return _to_page(query, connection.execute(chosen).mappings())
    if text:
        conditions.append(dialect.matches(dialect.unindexed_text(text), text))
    _set(connection, WALK)
    walks = _choose(connection, plan_walks(query, text, list_id), query)
    statements = [walk_statement(walk, query, conditions) for walk in walks]
    rows = [row for one in statements for row in connection.execute(one).mappings()]
    return _to_page(query, rows)


def find_list(connection: sa.Connection, name: str) -> int:
    """Return the number of a list.

    Raises:
        UnknownName: There is none of this name.
    """
    number = connection.scalar(sa.select(lists.c.id).where(lists.c.name == name))
    if number is None:
        raise UnknownName(f"there is no list {name!r}")
    return int(number)


def read_details(connection: sa.Connection, pass_id: str) -> PassDetails:
    """Return a pass with its readings and hits.

    Raises:
        UnknownName: There is none with this id.
    """
    found = connection.execute(sa.select(passes).where(passes.c.id == pass_id)).mappings().first()
    if found is None:
        raise UnknownName(f"there is no pass {pass_id!r}")
    return describe(connection, to_found(found))


def describe(connection: sa.Connection, found: FoundPass) -> PassDetails:
    """Return a pass with its readings and hits."""
    columns = [one for one in readings.c if one.name not in ("pass_number", "position")]
    of_pass = sa.select(*columns).where(readings.c.pass_number == found.number)
    rows = connection.execute(of_pass.order_by(readings.c.position)).mappings()
    hits = (
        sa.select(lists.c.name, list_hits.c.entry_text, list_hits.c.note, list_hits.c.edits)
        .join_from(list_hits, lists)
        .where(list_hits.c.pass_number == found.number)
        .order_by(lists.c.name)
    )
    return PassDetails(
        found,
        tuple(map(_to_reading, rows)),
        tuple(StoredHit(*row) for row in connection.execute(hits)),
    )


def _look_up(
    connection: sa.Connection, dialect: Dialect, text: TextCondition | None
) -> list[int] | None:
    """Return the passes with a text if they are few enough to be sorted."""
    if text is None or text.is_exact:
        return None
    statement = dialect.candidates(text)
    if statement is None:
        return None
    _set(connection, LOOK_UP)
    numbers = list(connection.execute(statement).scalars())
    return numbers if len(numbers) <= RARE else None


def _choose(
    connection: sa.Connection, groups: Sequence[list[Walk]], query: PassQuery
) -> list[Walk]:
    """Return the walks that have the fewest passes in a time."""
    if len(groups) == 1:
        return groups[0]

    def reach_s(group: list[Walk]) -> float:
        found = (connection.scalar(reach_statement(walk, query)) for walk in group)
        return max(-inf if one is None else one for one in found)

    return min(groups, key=reach_s)


def _set(connection: sa.Connection, settings: Iterable[str]) -> None:
    if connection.dialect.name == "postgresql":
        for setting in settings:
            connection.exec_driver_sql(f"SET LOCAL {setting}")


def _to_page(query: PassQuery, rows: Iterable[Any]) -> PassPage:
    """Merge the rows of all walks, without those that two walks have found."""
    by_number = {row["number"]: row for row in rows}
    newest = sorted(
        by_number.values(), key=lambda row: (row["first_seen_s"], row["number"]), reverse=True
    )
    found = tuple(map(to_found, newest[: query.limit]))
    return PassPage(found, found[-1].cursor if len(newest) > query.limit else "")


def _to_reading(row: Any) -> StoredReading:
    pairs = tuple((text, score) for text, score in row["candidates"])
    return StoredReading(**{**row, "candidates": pairs, "box": tuple(row["box"])})
