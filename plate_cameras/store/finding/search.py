"""Finds the passes of a search: by a walk in the order of time, or by an index of texts.

A text with a short piece is probably frequent, so a walk soon has the passes of a page. It is
looked up only if a walk of some steps has not found enough: then it is rare, or was not seen
lately. Longer texts are looked up first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import sqlalchemy as sa

from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import (
    FoundPass,
    PassDetails,
    PassPage,
    PassQuery,
    StoredHit,
)
from plate_cameras.store.finding.search_statements import (
    Condition,
    Dialect,
    Walk,
    make_conditions,
    plan_walks,
    select_by_numbers,
    select_by_walk,
    select_reach,
)
from plate_cameras.store.finding.stored_rows import (
    cursor_after,
    place_of,
    to_found_pass,
    to_reading,
)
from plate_cameras.store.finding.text_patterns import TextCondition
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import is_postgresql
from plate_cameras.store.tables.json_values import read_column, to_texts
from plate_cameras.store.tables.schema import joined_passes, list_hits, lists, passes, readings

ALWAYS_OFF = ("jit", "enable_seqscan")
WALK_OFF = ("sort", "bitmapscan", "material", "hashjoin", "mergejoin")
"""PostgreSQL guesses how many texts match. The program counts them, and so forbids the plan of a
wrong guess."""
RARE = 2000
"""Largest number of passes that are looked up and sorted. A text that more of a million passes have
fills a page within 25,000 steps of a walk."""
RARE_LATELY = 6000
"""Limit for a text that a first walk did not find often enough; it may be frequent, but old."""
STEPS = 1000
"""Number of steps after which walks are compared. The walk that reaches furthest into the past
goes on."""
FIRST_STEPS = 20_000
"""Steps that a walk makes before a frequent text is looked up. A text that more than one in 400
passes have fills a page within them."""


@dataclass(frozen=True)
class PassFinder:
    """Finds the rows of passes for one query.

    Attributes:
        groups: Groups of walks; the passes of one group, merged, hold the page.
    """

    connection: sa.Connection
    dialect: Dialect
    query: PassQuery
    text: TextCondition | None
    conditions: Sequence[Condition]
    groups: Sequence[list[Walk]]

    def find(self) -> list[Any]:
        """Return the rows of the page and of one pass more, in any order and some of them twice."""
        if self.text is None or self.text.is_exact:
            return self._follow(self._choose(), self.query)
        most = RARE
        if self.text.is_short:
            rows = self._walk_first()
            if rows is not None:
                return rows
            most = RARE_LATELY
        numbers = self._look_up(self.text, most)
        if numbers is None:
            return self._follow(self._choose(), self.query)
        statement = select_by_numbers(self.dialect, numbers, self.query, self.conditions)
        return [*self.connection.execute(statement).mappings()]

    def _walk_first(self) -> list[Any] | None:
        """Return the rows of the page if a walk of some steps finds them."""
        walks = self._choose()
        reach_s = self._reach_s(walks, FIRST_STEPS // len(walks))
        if reach_s == -inf:
            return self._follow(walks, self.query)
        rows = self._follow(walks, replace(self.query, from_s=reach_s))
        is_full = len({row["number"] for row in rows}) > self.query.limit
        return rows if is_full else None

    def _look_up(self, text: TextCondition, most: int) -> list[int] | None:
        """Return passes among which are all with a text, if they are few enough to be sorted."""
        self._allow(sorting=True)
        for statement in self.dialect.candidates(text, most):
            numbers = list(self.connection.execute(statement).scalars())
            if len(numbers) <= most:
                return numbers
        return None

    def _choose(self) -> list[Walk]:
        """Return the walks that have the fewest passes in a time."""
        if len(self.groups) == 1:
            return self.groups[0]
        return min(self.groups, key=lambda group: self._reach_s(group, STEPS))

    def _reach_s(self, walks: Sequence[Walk], steps: int) -> float:
        """Return the time until which all walks come within some steps each, or minus infinity."""
        self._allow(sorting=False)
        statements = (select_reach(walk, self.query, steps) for walk in walks)
        times_s = map(self.connection.scalar, statements)
        return max(-inf if time_s is None else float(time_s) for time_s in times_s)

    def _follow(self, walks: Sequence[Walk], query: PassQuery) -> list[Any]:
        self._allow(sorting=False)
        statements = [select_by_walk(walk, query, self.conditions) for walk in walks]
        return [
            row for statement in statements for row in self.connection.execute(statement).mappings()
        ]

    def _allow(self, *, sorting: bool) -> None:
        """Set what PostgreSQL's planner may do in this transaction."""
        if self.dialect.is_postgresql:
            settings = [f"SET LOCAL {name} = off" for name in ALWAYS_OFF]
            switch = "on" if sorting else "off"
            settings += [f"SET LOCAL enable_{name} = {switch}" for name in WALK_OFF]
            settings.append("SET LOCAL max_parallel_workers_per_gather = 0")
            self.connection.exec_driver_sql("; ".join(settings))


MAX_EARLIER, MAX_LATER = 9, 5
"""Most passes of the same plate that are shown beside one."""
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
    dialect = Dialect(is_postgresql(connection))
    text = TextCondition.of(query)
    list_id = find_list(connection, query.list_name, scope) if query.list_name else None
    conditions = make_conditions(query, dialect, list_id)
    if scope.cameras is not None:
        conditions.append(dialect.hide_index(passes.c.camera).in_(scope.cameras))
        if not query.cameras and len(scope.cameras) <= MAX_WALKS:
            query = replace(query, cameras=(*sorted(scope.cameras),))
    if text:
        conditions.append(dialect.matches(dialect.text_column(text), text))
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
    if row is None or not scope.sees_list(name, read_owners(name, row.groups)):
        raise UnknownName(f"there is no list {name!r}")
    return int(row.id)


def read_owners(name: str, groups: Any) -> tuple[str, ...]:
    """Return the groups to which a list belongs; none for those who may see all cameras."""
    if groups is None:  # a list of an earlier version
        return ()
    return read_column(f"list {name}", "groups", groups, to_texts) or ()


def read_details(
    connection: sa.Connection, pass_id: str, scope: Scope, *, neighbours: bool = False
) -> PassDetails:
    """Return a pass with its readings and hits, by its id or a second one.

    Args:
        connection: A transaction.
        pass_id: Its id.
        scope: The cameras whose passes may be found.
        neighbours: True if other passes of the plate are wanted, too.

    Raises:
        UnknownName: There is none with this id in the scope.
    """
    second = sa.select(joined_passes.c.pass_number).where(joined_passes.c.id == pass_id)
    is_it = sa.or_(passes.c.id == pass_id, passes.c.number == second.scalar_subquery())
    row = connection.execute(sa.select(passes).where(is_it)).mappings().first()
    if row is None or not scope.sees(row["camera"]):
        raise UnknownName(f"there is no pass {pass_id!r}")
    details = describe(connection, to_found_pass(row), scope)
    if not neighbours or not details.found_pass.text:
        return details
    return replace(details, neighbours=_read_neighbours(connection, details.found_pass, scope))


def _read_neighbours(
    connection: sa.Connection, found_pass: FoundPass, scope: Scope
) -> tuple[FoundPass, ...]:
    """Return the next and the last passes of the same plate, the newest first."""
    place = passes.c.first_seen_s, passes.c.number
    own_place = sa.tuple_(*map(sa.literal, (found_pass.first_seen_s, found_pass.number)))
    same = sa.select(passes).where(passes.c.text == found_pass.text)
    if scope.cameras is not None:
        same = same.where(passes.c.camera.in_(scope.cameras))
    later = same.where(sa.tuple_(*place) > own_place).order_by(*place).limit(MAX_LATER)
    earlier = same.where(sa.tuple_(*place) < own_place).limit(MAX_EARLIER)
    earlier = earlier.order_by(*(column.desc() for column in place))
    newer_rows, older_rows = (
        connection.execute(page).mappings().all() for page in (later, earlier)
    )
    return tuple(map(to_found_pass, (*reversed(newer_rows), *older_rows)))


def describe(connection: sa.Connection, found_pass: FoundPass, scope: Scope) -> PassDetails:
    """Return a pass with its readings and hits."""
    of_pass = sa.select(readings).where(readings.c.pass_number == found_pass.number)
    rows = connection.execute(of_pass.order_by(readings.c.position)).mappings()
    hits = read_hits(connection, [found_pass.number], scope).get(found_pass.number, ())
    return PassDetails(found_pass, tuple(map(to_reading, rows)), hits)


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
    newest = sorted(by_number.values(), key=place_of, reverse=True)
    page = newest[: query.limit]
    found_passes = tuple(map(to_found_pass, page))
    cursor = cursor_after(page[-1]) if len(newest) > query.limit else ""
    numbers = [found_pass.number for found_pass in found_passes]
    return PassPage(found_passes, cursor, read_hits(connection, numbers, scope))
