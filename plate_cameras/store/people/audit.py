"""The audit: who has searched for what, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import is_postgresql
from plate_cameras.store.tables.json_values import (
    read_columns,
    to_count,
    to_table,
    to_text,
    to_time,
)
from plate_cameras.store.tables.schema import searches

AUTOMATIC = "automatic"
"""Mark in the query of an entry: a page has asked by itself."""
PLACES = ("cursor", "limit")
"""Parts of a query that only say which page of the answer it is."""
SAME_SEARCH_S = 600.0
"""Seconds after which the next page of a search counts as another search."""
REPEATED_S = 12 * 3600.0
"""Seconds for which automatic repetitions of a search belong to the person's search."""
MAX_COMPARED = 20
"""Most entries that a search is compared with."""


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

    The next page of a search counts to the entry of the first one. So does a search that a page
    repeats by itself.

    Returns:
        The number of the entry.
    """
    row: dict[str, Any] = {"who": requester.who, "why": requester.why, "kind": kind}
    row["groups"] = [*requester.scope.groups]
    shown_query = {name: value for name, value in query.items() if name not in PLACES}
    if requester.is_automatic:
        shown_query[AUTOMATIC] = True
    if requester.is_automatic or "cursor" in query:
        latest = _find_latest(connection, row, shown_query, now_s)
        if latest is not None:
            if not requester.is_automatic:
                _add(connection, latest, count)
            return latest
    insert = sa.insert(searches).values(
        {**row, "time_s": now_s, "query": shown_query, "count": count}
    )
    number = connection.execute(insert.returning(searches.c.number)).scalar_one()
    return int(number)


def _find_latest(
    connection: sa.Connection, row: Mapping[str, Any], query: Mapping[str, Any], now_s: float
) -> int | None:
    """Return the number of the last entry of a requester, if it is of the same search."""
    columns = searches.c
    is_own = sa.and_(*(columns[name] == row[name] for name in ("who", "why", "kind")))
    since_s = now_s - (REPEATED_S if AUTOMATIC in query else SAME_SEARCH_S)
    is_recent = sa.and_(is_own, columns.time_s >= since_s)
    statement = sa.select(columns.number, columns.query, columns.groups).where(is_recent)
    for number, entry_query, groups in connection.execute(
        statement.order_by(columns.number.desc()).limit(MAX_COMPARED)
    ):
        if _is_same(entry_query, json.loads(json.dumps(query))) and groups == row["groups"]:
            return int(number)
    return None


def _is_same(entry_query: Any, query: Mapping[str, Any]) -> bool:
    """Tell whether a query is that of an entry. An automatic one may repeat a person's."""
    if not isinstance(entry_query, dict):  # it is damaged
        return False
    return query in (entry_query, {**entry_query, AUTOMATIC: True})


def _add(connection: sa.Connection, number: int, count: int) -> None:
    update = sa.update(searches).where(searches.c.number == number)
    connection.execute(update.values(count=searches.c.count + count))


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
    """A search for entries of the audit.

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
    """Return entries, the newest first, of callers all of whose groups are in the scope."""
    columns = searches.c
    entry_columns = [columns[field.name] for field in fields(RecordedSearch)]
    statement = sa.select(*entry_columns).order_by(columns.number.desc()).limit(query.limit)
    if query.from_s is not None:
        statement = statement.where(columns.time_s >= query.from_s)
    if query.until_s is not None:
        statement = statement.where(columns.time_s < query.until_s)
    if query.before is not None:
        statement = statement.where(columns.number < query.before)
    if scope.groups:
        statement = statement.where(_is_within(connection, scope.groups))
    return [_to_search(row) for row in connection.execute(statement).mappings()]


COLUMNS = {
    "time_s": (to_time, 0.0),
    **dict.fromkeys(("who", "why", "kind"), (to_text, "")),
    "query": (to_table, {}),
    "count": (to_count, 0),
}
"""The columns of an entry, with the values that stand for damaged ones."""


def _to_search(row: Any) -> RecordedSearch:
    return RecordedSearch(
        number=row["number"], **read_columns(f"search {row['number']}", row, COLUMNS)
    )


def _is_within(connection: sa.Connection, groups: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that an entry has groups, and all of them are among these.

    Entries of callers who may see all cameras have no groups, and neither have old entries.
    """
    if is_postgresql(connection):
        is_list = sa.func.json_typeof(searches.c.groups) == "array"
        elements = sa.func.json_array_elements_text
    else:
        is_list = sa.func.json_valid(searches.c.groups) == 1
        elements = sa.func.json_each
    entry_groups = sa.case((is_list, searches.c.groups), else_=sa.literal([], sa.JSON))
    each = elements(entry_groups).table_valued("value")
    other = sa.exists().select_from(each).where(each.c.value.not_in(groups))
    return sa.and_(sa.func.json_array_length(entry_groups) > 0, sa.not_(other))
