"""Real watchers share cameras in PostgreSQL; one is frozen, wakes, and all is stored once."""

from __future__ import annotations

import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.migrations import upgrade
from tests.plate_cameras.store.postgresql_server import PostgresqlServer
from tests.waiting import until
from workshop.benchmarks.handover.__main__ import configure, ending
from workshop.benchmarks.handover.figures import count, hand_over_s, read_looks
from workshop.benchmarks.handover.fleet import Fleet, hit
from workshop.benchmarks.handover.street import serve_street
from workshop.benchmarks.handover.timetable import Street

CAMERAS = 4


@pytest.mark.server
def test_a_frozen_watcher_loses_its_cameras_and_stores_no_pass_twice(
    server: PostgresqlServer, tmp_path: Path
) -> None:
    url = server.create_database("handover")
    street = Street(CAMERAS)
    with closing(Database(url)) as database:
        upgrade(database)
        fleet = Fleet(tmp_path, CAMERAS, database)
        with serve_street(street) as port, ending(fleet):
            configure(tmp_path, url, CAMERAS, port)
            fleet.start("one")
            fleet.start("two")
            fleet.wait_for_shares({"one", "two"})
            frozen = fleet.watchers["one"]
            fault = hit(fleet, "frozen", "one", lambda: frozen.send_signal(signal.SIGSTOP))
            fleet.wait_for_shares({"two"})
            frozen.send_signal(signal.SIGCONT)
            fleet.wait_for_shares({"one", "two"})
            until(
                lambda: (
                    count(street, read_looks(tmp_path), database, [fault], time.time()).looked_at
                ),
                "a vehicle that was looked at",
            )
            ends_s = time.time()
        looks = read_looks(tmp_path)
        counts = count(street, looks, database, [fault], ends_s)

    assert len(hand_over_s(fault, looks)) == CAMERAS / 2
    assert counts.looked_at > 0
    assert (counts.lost, counts.doubled, counts.delivered_twice) == ((), 0, 0)
    assert [watcher.returncode for watcher in fleet.watchers.values()] == [0, 0]
