"""The audit: who has searched for what, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.schema import searches


def record(
    connection: sa.Connection,
    requester: Requester,
    kind: str,
    query: Mapping[str, Any],
    *,
    count: int,
    now_s: float,
) -> int:
    """Write a search, before it is answered: without a record, there is no answer.

    Returns:
        The number of the entry.
    """
    row = {"time_s": now_s, "who": requester.who, "why": requester.why, "kind": kind}
    row["groups"] = [*requester.scope.groups]
    insert = sa.insert(searches).values({**row, "query": query, "count": count})
    number = connection.execute(insert.returning(searches.c.number)).scalar_one()
    return int(number)


@dataclass(frozen=True)
class RecordedSearch:
    """One entry of the audit. See `record`."""

    number: int
    time_s: float
    who: str
    why: str
    kind: str
    query: Mapping[str, Any]
    count: int


@dataclass(frozen=True)
class AuditQuery:
    """The wanted entries.

    Attributes:
        from_s: Unix time of the first entry.
        until_s: Unix time after the last entry.
        before: Number of the last entry of the page before.
        limit: Most entries.
    """

    from_s: float | None = None
    until_s: float | None = None
    before: int | None = None
    limit: int = 50


def read(connection: sa.Connection, query: AuditQuery, scope: Scope) -> list[RecordedSearch]:
    """Return entries, the newest first: of those who had groups of the scope, and no others."""
    columns = searches.c
    read = [columns[field.name] for field in fields(RecordedSearch)]
    statement = sa.select(*read).order_by(columns.number.desc()).limit(query.limit)
    if query.from_s is not None:
        statement = statement.where(columns.time_s >= query.from_s)
    if query.until_s is not None:
        statement = statement.where(columns.time_s < query.until_s)
    if query.before is not None:
        statement = statement.where(columns.number < query.before)
    if scope.groups:
        statement = statement.where(_is_within(connection, scope.groups))
    return [RecordedSearch(**row) for row in connection.execute(statement).mappings()]


def _is_within(connection: sa.Connection, groups: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that an entry has groups, and all of them are among these.

    Entries of callers who may see all cameras have no groups, and neither have old entries.
    """
    each = sa.func.json_each(searches.c.groups).table_valued("value")
    if connection.dialect.name == "postgresql":
        each = sa.func.json_array_elements_text(searches.c.groups).table_valued("value")
    other = sa.exists().select_from(each).where(each.c.value.not_in(groups))
    return sa.and_(sa.func.json_array_length(searches.c.groups) > 0, sa.not_(other))
