"""The command `python -m workshop.benchmarks.fleet`.

It makes the passes of a thousand cameras, stores and delivers them, shows them to people in a
control room, and prints rates, delays, times and growth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.tables.database import Database
from workshop.benchmarks.fleet.control_room import run_room
from workshop.benchmarks.fleet.made_events import Traffic
from workshop.benchmarks.fleet.outside import run_outside
from workshop.benchmarks.fleet.report import Growth, print_report
from workshop.benchmarks.fleet.simulation import Outcome, simulate
from workshop.benchmarks.passes_store.filling import fill
from workshop.benchmarks.passes_store.made_passes import make_passes
from workshop.benchmarks.postgresql_server import run_server


@dataclass(frozen=True)
class Place:
    """The database of a run.

    Attributes:
        url: Its address; None for SQLite's file in the folder.
        servers: The processes of its server, by role, as far as they are known.
    """

    url: str | None
    servers: dict[str, tuple[int, ...]]


def main(
    folder: Annotated[Path, typer.Argument(help="Folder for the store; must be empty.")],
    url: Annotated[str | None, typer.Option(help="postgresql+psycopg://..., an empty one.")] = None,
    postgresql: Annotated[bool, typer.Option(help="Start a PostgreSQL of its own.")] = False,
    cameras: Annotated[int, typer.Option(help="Number of cameras.")] = 1000,
    every: Annotated[float, typer.Option(help="Seconds between two passes of a camera.")] = 10.0,
    seconds: Annotated[float, typer.Option(help="Length of the run.")] = 60.0,
    passes: Annotated[int, typer.Option(help="Passes to fill in before.")] = 0,
    people: Annotated[int, typer.Option(help="People before the pages, at most 16.")] = 10,
) -> None:
    """Simulate the events of many cameras."""
    folder.mkdir(parents=True, exist_ok=True)
    with _placed(url, is_own=postgresql) as place:
        _run(folder, place, Traffic(cameras, every), seconds, passes=passes, people=people)


def _run(
    folder: Path, place: Place, traffic: Traffic, seconds: float, *, passes: int, people: int
) -> None:
    store = open_store(Store(url=place.url, keep_frames=False), folder)
    database = Database(place.url or f"sqlite:///{folder.absolute() / 'passes.db'}")
    if passes:
        fill(database, make_passes(passes))
    store.configure(traffic.configured())
    before = _size(database)

    async def run(room: str, servers: dict[str, tuple[int, ...]]) -> Outcome:
        async with run_outside(room, people) as outside:
            return await simulate(store, traffic, seconds, outside, servers)

    with run_room(folder, place.url, traffic.configured()) as room:
        outcome = asyncio.run(run(room.url, {"control room": room.pids, **place.servers}))
    print_report(outcome, Growth(_size(database) - before, _picture_bytes(folder)))
    database.close()
    store.close()


@contextmanager
def _placed(url: str | None, *, is_own: bool) -> Iterator[Place]:
    if not is_own:
        yield Place(url, {})
        return
    with run_server() as server:
        yield Place(server.create_database("fleet"), {"PostgreSQL": (server.pid,)})


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
