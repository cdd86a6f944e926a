"""The command `python -m workshop.benchmarks.handover`.

Three watchers share cameras. One is killed, one is frozen and wakes, one joins, the database is
away for a minute, and one stops. Then what is stored is compared with what passed.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.migrations import upgrade
from workshop.benchmarks.handover.database_link import DatabaseLink
from workshop.benchmarks.handover.figures import (
    Fault,
    Look,
    count,
    describe_times,
    hand_over_s,
    read_looks,
)
from workshop.benchmarks.handover.fleet import Fleet, hit
from workshop.benchmarks.handover.street import serve_street
from workshop.benchmarks.handover.timetable import Street
from workshop.reporting.tables import format_table

REST_S = 15.0
"""Time after each disturbance in which cars pass undisturbed."""
FROZEN_S = 25.0


def main(
    folder: Annotated[Path, typer.Argument(help="Folder for the run; must be empty.")],
    url: Annotated[str, typer.Option(help="An empty database of PostgreSQL, by its socket.")],
    cameras: Annotated[int, typer.Option(help="Number of cameras, at most 99.")] = 30,
    away: Annotated[float, typer.Option(help="Seconds without the database.")] = 60.0,
) -> None:
    """Disturb watchers that share cameras, and print what became of the passes."""
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(url)
    upgrade(database)
    link = DatabaseLink(folder.absolute(), str(sa.make_url(url).query["host"]))
    link.join()
    street = Street(cameras)
    fleet = Fleet(folder, cameras, database)
    with serve_street(street) as port, ending(fleet):
        linked = sa.make_url(url).update_query_dict({"host": str(folder.absolute())})
        configure(folder, linked.render_as_string(hide_password=False), cameras, port)
        faults = list(_disturb(fleet, link, away))
        end_s = time.time() - REST_S
    _report(street, read_looks(folder), database, faults, end_s)
    database.close()


def _disturb(fleet: Fleet, link: DatabaseLink, away_s: float) -> Iterator[Fault]:
    """Disturb the watchers in turn."""
    for name in ("one", "two", "three"):
        fleet.start(name)
    fleet.wait_for_shares({"one", "two", "three"})
    time.sleep(REST_S)
    yield hit(fleet, "killed", "one", fleet.watchers["one"].kill)
    fleet.wait_for_shares({"two", "three"})
    time.sleep(REST_S)
    frozen = fleet.watchers["two"]
    yield hit(fleet, "frozen", "two", lambda: frozen.send_signal(signal.SIGSTOP))
    time.sleep(FROZEN_S)
    frozen.send_signal(signal.SIGCONT)
    fleet.wait_for_shares({"two", "three"})
    time.sleep(REST_S)
    fleet.start("four")
    fleet.wait_for_shares({"two", "three", "four"})
    time.sleep(REST_S)
    yield hit(fleet, "database away", "", link.cut)
    time.sleep(away_s)
    link.join()
    time.sleep(REST_S)
    fleet.wait_for_shares({"two", "three", "four"})
    yield hit(fleet, "stopped", "three", fleet.watchers["three"].terminate)
    fleet.wait_for_shares({"two", "four"})
    time.sleep(2 * REST_S)


def _report(
    street: Street, looks: list[Look], database: Database, faults: list[Fault], end_s: float
) -> None:
    rows = []
    for fault in faults:
        times = hand_over_s(fault, looks)
        at = time.strftime("%X", time.localtime(fault.at_s))
        told = describe_times([*times.values()]) if fault.watcher else "-"
        rows.append((fault.name, at, len(fault.cameras), told))
    print(format_table(("fault", "time", "cameras", "hand-over s: least/median/most"), rows))
    for fault in faults[:2]:
        by_camera = hand_over_s(fault, looks).items()
        print(f"{fault.name}:", *(f"{camera}: {s:.1f} s" for camera, s in sorted(by_camera)))
    counts = count(street, looks, database, faults, end_s)
    names = ("passed", "looked_at", "stored", "doubled", "delivered_twice", "gone_with_killed")
    figures = [(name, getattr(counts, name)) for name in (*names, "unclosed")]
    print(format_table(("vehicles", "number"), [*figures, ("lost", len(counts.lost))]))
    print("lost:", *counts.lost)


def configure(folder: Path, url: str, cameras: int, port: int) -> None:
    """Write the file of cameras."""
    lines = [
        "[store]",
        f'url = "{url}"',
        "keep_frames = false",
        *("[[sinks]]", 'name = "log"', 'type = "jsonl"', f'url = "{folder.absolute()}/events"'),
    ]
    for number in range(cameras):
        address = f"http://127.0.0.1:{port}/{number}"
        lines += ["[[cameras]]", f'name = "{number}"', f'url = "{address}"', "looks_per_s = 2"]
    (folder / "CAMERAS.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def ending(fleet: Fleet) -> Iterator[None]:
    """End the watchers after a `with` block."""
    try:
        yield
    finally:
        fleet.end()


if __name__ == "__main__":
    typer.run(main)
