"""The watchers of a run as processes, and the leases that they hold."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import camera_leases
from workshop.benchmarks.handover.figures import Fault

MAX_WAIT_S = 120.0


@dataclass
class Fleet:
    """Watchers of one configuration.

    Attributes:
        folder: Folder of the configuration, the looks and the logs.
        cameras: Number of cameras.
        database: The database, past any link.
        watchers: The processes by name.
    """

    folder: Path
    cameras: int
    database: Database
    watchers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """Start a watcher."""
        module = "workshop.benchmarks.handover.watcher"
        looks = self.folder / f"{name}.looks"
        with (self.folder / f"{name}.log").open("wb") as log:
            self.watchers[name] = subprocess.Popen(
                [sys.executable, "-m", module, str(self.folder / "CAMERAS.toml"), str(looks)],
                stdout=log,
                stderr=log,
            )

    def shares(self) -> dict[str, int]:
        """Return how many cameras each live watcher holds, by its name."""
        return dict(Counter(self.owners().values()))

    def owners(self) -> dict[str, str]:
        """Return the name of the watcher that holds each camera; by the leases that are valid."""
        held = sa.select(camera_leases.c.camera, camera_leases.c.watcher)
        with self.database.reading() as connection:
            rows = connection.execute(held.where(camera_leases.c.watcher != "")).all()
        names = {str(one.pid): name for name, one in self.watchers.items()}
        return {row.camera: names.get(row.watcher.split("-")[-2], "another") for row in rows}

    def wait_for_shares(self, names: set[str]) -> None:
        """Wait until these watchers hold all cameras in even shares."""
        least = self.cameras // len(names)

        def is_even() -> bool:
            shares = self.shares()
            return (
                shares.keys() == names
                and sum(shares.values()) == self.cameras
                and min(shares.values()) >= least
            )

        wait(is_even, f"even shares of {sorted(names)}")

    def end(self) -> None:
        """Stop the watchers that still run."""
        for one in self.watchers.values():
            one.terminate()
        for one in self.watchers.values():
            try:
                one.wait(60)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def hit(fleet: Fleet, name: str, watcher: str, act: Callable[[], None]) -> Fault:
    """Disturb a watcher; return when it was, and which cameras it had."""
    owned = [int(camera) for camera, owner in fleet.owners().items() if owner == watcher]
    at_s = time.time()
    act()
    print(f"{name} {watcher}: {time.strftime('%X')}", flush=True)
    return Fault(name, watcher, at_s, tuple(sorted(owned)))


def wait(condition: Callable[[], bool], what: str) -> None:
    """Return when it is so.

    Raises:
        TimeoutError: It was not for too long.
    """
    deadline = time.monotonic() + MAX_WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"wanted {what}")
        time.sleep(0.1)
