"""The command `python -m workshop.benchmarks.passes_store`.

It fills a new store, times searches and writes, and prints plans and sizes.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cameras.configuration import Store
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.factory import open_store
from workshop.benchmarks.passes_store.claims import time_claims
from workshop.benchmarks.passes_store.filling import fill
from workshop.benchmarks.passes_store.made_passes import make_passes
from workshop.benchmarks.passes_store.searches import time_searches
from workshop.benchmarks.passes_store.sizes import read_sizes
from workshop.benchmarks.passes_store.writes import time_writes
from workshop.reporting.tables import format_table


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
    rows = [
        (one.kind, f"{one.median_ms:.1f}", f"{one.worst_ms:.1f}", str(one.found)) for one in timed
    ]
    print(format_table(("search", "median ms", "worst ms", "found"), rows))
    for one in timed if plans else ():
        print("\n".join((f"\n{one.kind}:", *one.plan)))
    print(format_table(("events a write", "events/s"), list(time_writes(store))))
    print(format_table(("claim, median ms", "worst ms"), [time_claims(store, database)]))
    database.close()
    store.close()


if __name__ == "__main__":
    typer.run(main)
