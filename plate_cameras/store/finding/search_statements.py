"""The statements of a search in SQLite and PostgreSQL.

There are two plans. A rare text is looked up in the index of texts, and what it finds is sorted.
A frequent text, or none, is answered by a walk: an index gives passes in the order of their times,
and the walk ends when the page is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from plate_cameras.store.finding.edit_pieces import split_for_edits
from plate_cameras.store.finding.pass_query import PassQuery, parse_cursor
from plate_cameras.store.finding.text_patterns import END, HIGHEST, START, TextCondition, to_like
from plate_cameras.store.tables.columns import TIME
from plate_cameras.store.tables.schema import list_hits, pass_zones, passes
from plate_cameras.store.tables.text_index import (
    find_in_postgresql,
    find_in_sqlite,
    match_all,
    match_pieces,
    pass_texts,
)

Condition = sa.ColumnElement[bool]


@dataclass(frozen=True)
class Dialect:
    """The differences of the two databases."""

    is_postgresql: bool

    def candidates(
        self, text: TextCondition, most: int
    ) -> list[sa.Select[Any] | sa.CompoundSelect[Any]]:
        """Return ways to find the numbers of the passes with a text in an index.

        Each finds all of them, and perhaps others, or one more than `most`.
        """
        if text.edits or text.runs:
            return [self._by_pieces(text).limit(most + 1)]
        if text.prefix:
            return [self._by_prefix(text).limit(most + 1)]
        find = find_in_postgresql if self.is_postgresql else find_in_sqlite
        return [find(run).limit(most + 1) for run in text.short_runs]

    def matches(
        self, column: sa.ColumnElement[str], text: TextCondition, *, is_wrapped: bool = False
    ) -> Condition:
        """Return the condition on a column. In SQLite's index, texts stand between `^` and `$`."""
        around = (lambda pattern: f"{START}{pattern}{END}") if is_wrapped else str
        conditions: list[Condition] = []
        if text.edits:
            conditions.append(self._within_edits(column, around(text.pattern), text.edits))
        elif text.pattern.strip("*"):
            conditions.append(self._matches(column, around(text.pattern)))
        conditions += [self._matches(column, around(f"*{part}*")) for part in text.parts]
        return sa.and_(*conditions)

    def is_among(self, numbers: Sequence[int]) -> Condition:
        """Return the condition that a pass has one of these numbers, as a single parameter."""
        if self.is_postgresql:
            return passes.c.number == sa.any_(sa.literal([*numbers], ARRAY(sa.BigInteger)))
        each = sa.func.json_each(sa.literal([*numbers], sa.JSON)).table_valued("value")
        return passes.c.number.in_(sa.select(each.c.value))

    def hide_index(self, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
        """Return a column so that SQLite does not use its index instead of the walk's."""
        if self.is_postgresql:
            return column
        return sa.literal_column(f"+{column.table.name}.{column.name}", column.type)

    def text_column(self, text: TextCondition) -> sa.ColumnElement[str]:
        """Return the column of texts for the condition of a walk."""
        return passes.c.text if text.is_exact else self.hide_index(passes.c.text)

    def _by_pieces(self, text: TextCondition) -> sa.Select[Any]:
        table, number = pass_texts, pass_texts.c.number
        if self.is_postgresql:
            statement = sa.select(number).where(*self._postgresql_pieces(text))
            statement = statement.where(self.matches(table.c.text, text))
        else:
            statement = sa.select(sa.literal_column("rowid", number.type).label("number"))
            # With the plus, FTS5 does not see the patterns: SQLite 3.40 crashes over short ones.
            column = sa.literal_column("+pass_texts.text", sa.String)
            condition = (
                match_pieces(split_for_edits(text.pattern, text.edits))
                if text.edits
                else match_all(text.runs)
            )
            statement = statement.select_from(table).where(
                sa.literal_column("pass_texts").op("MATCH")(condition),
                self.matches(column, text, is_wrapped=True),
            )
        return statement

    def _by_prefix(self, text: TextCondition) -> sa.Select[Any]:
        column = passes.c.text
        return sa.select(passes.c.number).where(
            column >= text.prefix, column < text.prefix + HIGHEST, self.matches(column, text)
        )

    def _postgresql_pieces(self, text: TextCondition) -> list[Condition]:
        if not text.edits:
            return []
        pieces = split_for_edits(text.pattern, text.edits).pieces
        likes = (f"%{piece}%".removeprefix(f"%{START}") for piece in pieces)
        return [sa.or_(*(pass_texts.c.text.like(like.removesuffix(f"{END}%")) for like in likes))]

    def _matches(self, column: sa.ColumnElement[str], pattern: str) -> Condition:
        if self.is_postgresql:
            return column.like(to_like(pattern))
        return column.op("GLOB", is_comparison=True)(pattern)

    def _within_edits(self, column: sa.ColumnElement[str], pattern: str, edits: int) -> Condition:
        if self.is_postgresql:
            return sa.func.levenshtein_less_equal(column, pattern, edits) <= edits
        return sa.func.within_edits(column, pattern, edits, type_=sa.Boolean) == sa.true()


@dataclass(frozen=True)
class Walk:
    """A walk along an index, which has the newest passes last.

    Attributes:
        condition: The value of the index's first column; None for the index of all passes.
    """

    table: sa.Table
    condition: Condition | None = None

    @property
    def number(self) -> sa.Column[int]:
        return self.table.c.number if self.table is passes else self.table.c.pass_number


def plan_walks(
    query: PassQuery, text: TextCondition | None, list_id: int | None
) -> list[list[Walk]]:
    """Return the groups of walks. The passes of one group, merged, hold the page."""
    if text and text.is_exact:
        return [[Walk(passes, passes.c.text == text.pattern)]]
    groups = [
        [Walk(pass_zones, pass_zones.c.zone == zone) for zone in query.zones],
        [Walk(passes, passes.c.camera == camera) for camera in query.cameras],
    ]
    if list_id is not None:
        groups.append([Walk(list_hits, list_hits.c.list_id == list_id)])
    if query.region_code:
        groups.append([Walk(passes, passes.c.region_code == query.region_code)])
    return [group for group in groups if group] or [[Walk(passes)]]


def select_reach(walk: Walk, query: PassQuery, steps: int) -> sa.Select[Any]:
    """Return the statement for the time that a walk reaches in some steps; no row if it ends."""
    time_s = walk.table.c.first_seen_s
    statement = sa.select(time_s).where(*_in_time(query, time_s, walk.number))
    if walk.condition is not None:
        statement = statement.where(walk.condition)
    return statement.order_by(time_s.desc(), walk.number.desc()).limit(1).offset(steps)


def select_by_walk(walk: Walk, query: PassQuery, conditions: Sequence[Condition]) -> sa.Select[Any]:
    """Return the statement that follows a walk to the end of the page.

    The walk itself gives numbers only, so that PostgreSQL can compare texts in an index that has
    them, and reads no other rows than those of the page.
    """
    table, time_s, number = walk.table, walk.table.c.first_seen_s, walk.number
    source: sa.FromClause = table
    if table is not passes:
        source = table.join(passes, passes.c.number == number)
    statement = sa.select(number.label("number")).select_from(source).where(*conditions)
    if walk.condition is not None:
        statement = statement.where(walk.condition)
    statement = statement.where(*_in_time(query, time_s, number))
    page = statement.order_by(time_s.desc(), number.desc()).limit(query.limit + 1).subquery("found")
    rows = passes.alias("found_passes")
    return sa.select(rows).join_from(page, rows, rows.c.number == page.c.number)


def select_by_numbers(
    dialect: Dialect, numbers: Sequence[int], query: PassQuery, conditions: Sequence[Condition]
) -> sa.Select[Any]:
    """Return the statement that filters and sorts passes whose numbers are known."""
    time_s = sa.literal_column("+passes.first_seen_s", TIME)  # not by the index of times
    statement = sa.select(passes).where(dialect.is_among(numbers), *conditions)
    statement = statement.where(*_in_time(query, time_s, passes.c.number))
    return statement.order_by(time_s.desc(), passes.c.number.desc()).limit(query.limit + 1)


def make_conditions(query: PassQuery, dialect: Dialect, list_id: int | None) -> list[Condition]:
    """Return the conditions of a query on other things than text and time."""
    plain = dialect.hide_index
    conditions: list[Condition] = []
    if query.cameras:
        conditions.append(plain(passes.c.camera).in_(query.cameras))
    if query.region_code:
        conditions.append(plain(passes.c.region_code) == query.region_code)
    if query.direction:
        conditions.append(passes.c.direction == query.direction)
    if query.zones:
        zones = pass_zones.alias("seen_zones")
        conditions.append(_exists(zones, zones.c.zone.in_(query.zones)))
    if list_id is not None:
        hits = list_hits.alias("other_hits")
        conditions.append(_exists(hits, hits.c.list_id == list_id))
    return conditions


def _exists(table: Any, condition: Condition) -> Condition:
    return sa.exists().where(table.c.pass_number == passes.c.number, condition)


def _in_time(
    query: PassQuery, time_s: sa.ColumnElement[float], number: sa.Column[int]
) -> list[Condition]:
    conditions: list[Condition] = []
    if query.from_s is not None:
        conditions.append(time_s >= query.from_s)
    if query.until_s is not None:
        conditions.append(time_s < query.until_s)
    if cursor := parse_cursor(query.cursor):
        conditions.append(sa.tuple_(time_s, number) < sa.tuple_(*map(sa.literal, cursor)))
    return conditions
