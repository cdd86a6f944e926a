"""The searches that are timed, and their plans."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.pass_query import PassQuery, Requester
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cameras.store.schema import passes
from workshop.benchmarks.passes_store.made_passes import CAMERAS, END_S, SPAN_S

TIMES = 20
LENGTH = 7
"""Shortest text that may be searched with two edits."""
REQUESTER = Requester("benchmark", "measures the store")
LETTERS = "ABEKMHOPCTYX"


@dataclass(frozen=True)
class SearchTimes:
    """The times of one kind of search.

    Attributes:
        kind: Name of the kind.
        median_ms: Median of `TIMES` different searches.
        worst_ms: The slowest of them.
        found: Passes on all pages together.
        plan: The plans of the first one's statements.
    """

    kind: str
    median_ms: float
    worst_ms: float
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
    times, found = [], 0
    for query in queries:
        started = time.perf_counter()
        page = store.search(query, REQUESTER)
        times.append(1000 * (time.perf_counter() - started))
        found += len(page.passes)
    plan = _explain(store, database, queries[0])
    return SearchTimes(name, median(times), max(times), found, tuple(plan))


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


def _other(char: str, rng: random.Random) -> str:
    return rng.choice([one for one in ("0123456789" if char.isdigit() else LETTERS) if one != char])


def _misread(text: str, edits: int, rng: random.Random) -> str:
    chars = list(text)
    for at in rng.sample(range(len(chars)), edits):
        chars[at] = _other(chars[at], rng)
    return "".join(chars)


def _span(rng: random.Random) -> dict[str, Any]:
    start_s = END_S - SPAN_S * rng.uniform(0.1, 0.9)
    return {"from_s": start_s, "until_s": start_s + 3600}


Make = Callable[[str, random.Random], PassQuery]
KINDS: dict[str, Make] = {
    "newest": lambda text, rng: PassQuery(),
    "whole text": lambda text, rng: PassQuery(text),
    "prefix of four": lambda text, rng: PassQuery(text[:4] + "*"),
    "prefix of one": lambda text, rng: PassQuery(text[0] + "*"),
    "part of four": lambda text, rng: PassQuery(parts=(text[1:5],)),
    "part of three": lambda text, rng: PassQuery(parts=(text[-3:],)),
    "part of two": lambda text, rng: PassQuery(parts=(text[2:4],)),
    "end of three": lambda text, rng: PassQuery("*" + text[-3:]),
    "wildcard * in the middle": lambda text, rng: PassQuery(text[:2] + "*" + text[-4:]),
    "wildcards ? in the middle": lambda text, rng: PassQuery(text[:2] + "??" + text[4:]),
    "part that is nowhere": lambda text, rng: PassQuery(parts=("QQ" + text[-2:],)),
    "two characters that are nowhere": lambda text, rng: PassQuery(parts=("QQ",)),
    "one edit": lambda text, rng: PassQuery(_misread(text, 1, rng), edits=1),
    "two edits": lambda text, rng: PassQuery(_misread(text, 2, rng), edits=2),
    "camera and an hour": lambda text, rng: PassQuery(cameras=(rng.choice(CAMERAS),), **_span(rng)),
    "three cameras": lambda text, rng: PassQuery(cameras=tuple(rng.sample(CAMERAS, 3))),
    "region": lambda text, rng: PassQuery(region_code=text[-2:]),
    "region and camera": lambda text, rng: PassQuery(
        region_code=text[-2:], cameras=(rng.choice(CAMERAS),)
    ),
    "list": lambda text, rng: PassQuery(list_name="residents"),
    "rare list and camera": lambda text, rng: PassQuery(
        list_name="wanted", cameras=(rng.choice(CAMERAS),)
    ),
    "zone and direction": lambda text, rng: PassQuery(zones=("gate",), direction="away"),
    "prefix, camera, a day": lambda text, rng: PassQuery(
        text[:2] + "*",
        cameras=(rng.choice(CAMERAS),),
        from_s=END_S - 3 * 86400,
        until_s=END_S - 2 * 86400,
    ),
}
