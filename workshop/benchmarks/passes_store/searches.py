"""The searches that are timed, and their plans."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import passes
from workshop.benchmarks.passes_store.cpu_time import CpuTime
from workshop.benchmarks.passes_store.search_kinds import KINDS

TIMES = 100
REPEATS = 3
"""Each search is made so often, and the quickest counts: other programs may use the machine."""
LENGTH = 7
"""Shortest text that may be searched with two edits."""
REQUESTER = Requester("benchmark", "measures the store")


@dataclass(frozen=True)
class SearchTimes:
    """The times of one kind of search.

    Attributes:
        kind: Name of the kind.
        median_ms: Median of `TIMES` different searches.
        worst_ms: The slowest of them.
        cpu_ms: CPU time of each, the least first.
        found: Passes on all pages together.
        plan: The plans of the first one's statements.
    """

    kind: str
    median_ms: float
    worst_ms: float
    cpu_ms: tuple[float, ...]
    found: int
    plan: tuple[str, ...]


def time_searches(store: PassStore, database: Database, count: int) -> Iterator[SearchTimes]:
    """Time each kind of search."""
    rng = random.Random(1)
    with database.reading() as connection:
        numbers = [rng.randint(1, count) for _ in range(TIMES * 3)]
        long = sa.func.length(passes.c.text) >= LENGTH
        found = sa.select(passes.c.text).where(passes.c.number.in_(numbers), long)
        texts = list(connection.execute(found).scalars())[:TIMES]
    kinds = {name: [make(text, rng) for text in texts] for name, make in KINDS.items()}
    for name, queries in kinds.items():
        yield _time(store, database, name, queries)


def _time(
    store: PassStore, database: Database, name: str, queries: Sequence[PassQuery]
) -> SearchTimes:
    plan = _explain(store, database, queries[0])
    cpu, found = CpuTime(database), 0
    times, cpu_ms = [], []
    for query in queries:
        taken = []
        for _ in range(REPEATS):
            started, used_ms = time.perf_counter(), cpu.read_ms()
            page = store.search(query, REQUESTER)
            taken.append((1000 * (time.perf_counter() - started), cpu.read_ms() - used_ms))
        times.append(min(wall_ms for wall_ms, _ in taken))
        cpu_ms.append(min(used_ms for _, used_ms in taken))
        found += len(page.passes)
    return SearchTimes(name, median(times), max(times), tuple(sorted(cpu_ms)), found, tuple(plan))


def _explain(store: PassStore, database: Database, query: PassQuery) -> list[str]:
    """Return the plans of a search's statements, under the settings that it makes."""
    with _recorded() as statements:
        store.search(query, REQUESTER)
    verb = "EXPLAIN (ANALYZE, TIMING OFF)" if database.is_postgresql else "EXPLAIN QUERY PLAN"
    lines: list[str] = []
    with database.reading() as connection:
        for statement, parameters in statements:
            if statement.startswith(("SET", "SELECT")):
                explained = f"{verb} {statement}" if statement.startswith("SELECT") else statement
                answer = connection.exec_driver_sql(explained, parameters)
                lines += [str(row[-1]) for row in answer] if answer.returns_rows else []
    return lines


@contextmanager
def _recorded() -> Iterator[list[tuple[str, Any]]]:
    statements: list[tuple[str, Any]] = []

    def record(_1: Any, _2: Any, statement: str, parameters: Any, *_3: Any) -> None:
        statements.append((statement, parameters))

    event.listen(sa.Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(sa.Engine, "before_cursor_execute", record)
