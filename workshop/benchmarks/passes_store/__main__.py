"""The command `python -m workshop.benchmarks.passes_store`.

It fills a new store, times searches and writes, and prints plans and sizes.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.tables.database import Database
from workshop.benchmarks.passes_store.claims import time_claims
from workshop.benchmarks.passes_store.filling import fill
from workshop.benchmarks.passes_store.made_passes import make_passes
from workshop.benchmarks.passes_store.searches import SearchTimes, time_searches
from workshop.benchmarks.passes_store.sizes import read_sizes
from workshop.benchmarks.passes_store.writes import time_writes
from workshop.reporting.tables import format_table

SEARCHES = ("search", "median ms", "worst ms", "median CPU ms", "worst CPU ms", "found")


def main(
    folder: Annotated[Path, typer.Argument(help="Folder for the store; must be empty.")],
    url: Annotated[str | None, typer.Option(help="postgresql+psycopg://..., an empty one.")] = None,
    passes: Annotated[int, typer.Option(help="Passes to fill in.")] = 1_000_000,
    plans: Annotated[bool, typer.Option(help="Print the plan of each kind of search.")] = False,
    filled: Annotated[bool, typer.Option(help="The store is filled already.")] = False,
) -> None:
    """Measure the store of passes."""
    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(Store(url=url), folder)
    database = Database(url or f"sqlite:///{folder.absolute() / 'passes.db'}")
    started = time.perf_counter()
    if not filled:
        fill(database, make_passes(passes))
        print(f"{passes} passes filled in within {time.perf_counter() - started:.0f} s")
    print(format_table(("table", "MB", "indexes, MB"), read_sizes(database)))
    timed = list(time_searches(store, database, passes))
    print(format_table(SEARCHES, [_row(one) for one in timed]))
    for one in timed if plans else ():
        print("\n".join((f"\n{one.kind}:", *one.plan)))
    print(format_table(("events a write", "events/s"), list(time_writes(store))))
    print(format_table(("claim, median ms", "worst ms"), [time_claims(store, database)]))
    database.close()
    store.close()


def _row(timed: SearchTimes) -> tuple[str, ...]:
    cpu_ms = timed.cpu_ms
    times = (timed.median_ms, timed.worst_ms, median(cpu_ms), cpu_ms[-1])
    return timed.kind, *(f"{one:.1f}" for one in times), str(timed.found)


if __name__ == "__main__":
    typer.run(main)
