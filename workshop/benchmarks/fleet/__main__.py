"""The command `python -m workshop.benchmarks.fleet`.

It makes the passes of a thousand cameras, stores and delivers them, searches meanwhile, and prints
delays, times and growth.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import typer

from orchestrator.cameras.configuration import Store
from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.factory import open_store
from workshop.benchmarks.fleet.made_events import Traffic
from workshop.benchmarks.fleet.simulation import Outcome, simulate
from workshop.benchmarks.passes_store.filling import fill
from workshop.benchmarks.passes_store.made_passes import make_passes
from workshop.reporting.tables import format_table

DAY_S = 86400
GB = 1e9


def main(
    folder: Annotated[Path, typer.Argument(help="Folder for the store; must be empty.")],
    url: Annotated[str | None, typer.Option(help="postgresql+psycopg://..., an empty one.")] = None,
    cameras: Annotated[int, typer.Option(help="Number of cameras.")] = 1000,
    every: Annotated[float, typer.Option(help="Seconds between two passes of a camera.")] = 10.0,
    seconds: Annotated[float, typer.Option(help="Length of the run.")] = 60.0,
    passes: Annotated[int, typer.Option(help="Passes to fill in before.")] = 0,
) -> None:
    """Simulate the events of many cameras."""
    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(Store(url=url, keep_frames=False), folder)
    database = Database(url or f"sqlite:///{folder.absolute() / 'passes.db'}")
    if passes:
        fill(database, make_passes(passes))
    traffic = Traffic(cameras, every)
    store.configure(traffic.configured())
    before = _size(database), time.process_time()
    outcome = asyncio.run(simulate(store, traffic, seconds))
    cpu_s = time.process_time() - before[1]
    _report(outcome, _size(database) - before[0], _picture_bytes(folder), cpu_s)
    database.close()
    store.close()


def _report(outcome: Outcome, grown: int, pictures: int, cpu_s: float) -> None:
    rate = outcome.passes / outcome.seconds
    rows = [
        ("passes a second", f"{rate:.1f}"),
        ("events that waited for the store, most", str(outcome.waited)),
        ("share of the time in which the store wrote", f"{outcome.busy_share:.2f}"),
        ("events that the webhook did not get in time", str(outcome.undelivered)),
        ("CPU s of this process a second", f"{cpu_s / outcome.seconds:.2f}"),
        ("database a pass, KB", f"{grown / outcome.passes / 1e3:.1f}"),
        ("database a day, GB", f"{grown / outcome.seconds * DAY_S / GB:.0f}"),
        ("pictures a day, GB", f"{pictures / outcome.seconds * DAY_S / GB:.0f}"),
    ]
    print(format_table(("figure", "value"), rows))
    header = ("from the event", "p50 ms", "p99 ms", "most ms")
    delays = {"to the store": outcome.stored_s, "to the webhook": outcome.delivered_s}
    print(format_table(header, [(name, *_spread(times, 1000)) for name, times in delays.items()]))
    searches = outcome.searches_ms.items()
    print(
        format_table(
            ("search under load", "p50 ms", "p99 ms", "most ms"),
            [(name, *_spread(times)) for name, times in searches],
        )
    )


def _spread(times: list[float], factor: float = 1.0) -> tuple[str, ...]:
    """Return median, 99th percentile and the longest."""
    if len(times) < 2:
        return ("-", "-", "-")
    percentiles = quantiles(times, n=100, method="inclusive")
    return tuple(f"{factor * one:.0f}" for one in (median(times), percentiles[98], max(times)))


def _size(database: Database) -> int:
    """Return the size of a database, bytes."""
    statement = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    if database.is_postgresql:
        statement = "SELECT pg_database_size(current_database())"
    with database.reading() as connection:
        return int(connection.exec_driver_sql(statement).scalar_one())


def _picture_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in (folder / "pictures").rglob("*.jpg"))


if __name__ == "__main__":
    typer.run(main)
