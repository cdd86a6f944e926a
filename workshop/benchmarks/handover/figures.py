"""Compares the truth of the street with the looks of the watchers and with what is stored."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import sqlalchemy as sa

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import deliveries, passes
from workshop.benchmarks.handover.timetable import Street

MIN_LOOKS = 2
"""Looks at which a pass can be agreed."""
LAST_S = 1.0
"""A killed process may take with it what it saw in its last second."""


@dataclass(frozen=True)
class Fault:
    """A disturbance.

    Attributes:
        name: Its name.
        watcher: The watcher that it hits; empty for all.
        at_s: Unix time.
        cameras: Numbers of the cameras that the watcher had.
    """

    name: str
    watcher: str
    at_s: float
    cameras: tuple[int, ...] = ()


@dataclass(frozen=True)
class Look:
    """A frame of a vehicle that a watcher has used."""

    time_s: float
    watcher: str
    camera: int
    vehicle: int


@dataclass(frozen=True)
class Counts:
    """Vehicles of a run.

    Attributes:
        passed: Vehicles that passed from their first picture to their last.
        looked_at: Those that a watcher has looked at twice or more.
        stored: Those that have a pass.
        doubled: Those that have several.
        delivered_twice: Those for which a sink got two events `closed`.
        lost: Texts that were looked at and have no pass.
        gone_with_killed: Those of them that only the killed process saw, in its last second.
        unclosed: Passes that are not closed.
    """

    passed: int
    looked_at: int
    stored: int
    doubled: int
    delivered_twice: int
    lost: tuple[str, ...]
    gone_with_killed: int
    unclosed: int


def read_looks(folder: Path) -> list[Look]:
    """Return the looks of all watchers in the order of time."""
    looks = []
    for file in folder.glob("*.looks"):
        for line in file.read_text(encoding="utf-8").splitlines():
            time_s, camera, vehicle = line.split()
            looks.append(Look(float(time_s), file.stem, int(camera), int(vehicle)))
    return sorted(looks, key=lambda look: look.time_s)


def hand_over_s(fault: Fault, looks: Sequence[Look]) -> dict[int, float]:
    """Return the seconds by camera from a fault to the first look of another watcher."""
    found: dict[int, float] = {}
    for look in looks:
        is_other = look.watcher != fault.watcher and look.time_s > fault.at_s
        if look.camera not in fault.cameras or look.camera in found or not is_other:
            continue
        found[look.camera] = look.time_s - fault.at_s
    return found


def count(
    street: Street, looks: Sequence[Look], database: Database, faults: Sequence[Fault], end_s: float
) -> Counts:
    """Count vehicles whose last picture was before a Unix time."""
    seen: defaultdict[tuple[int, int], list[Look]] = defaultdict(list)
    for look in looks:
        seen[look.camera, look.vehicle].append(look)
    begun_s = looks[0].time_s
    passed = {
        (sight.camera, sight.vehicle): sight.text
        for camera in range(street.cameras)
        for sight, start_s, until_s in street.vehicles(camera, end_s)
        if start_s >= begun_s and until_s < end_s
    }
    stored, unclosed, closed = _read_store(database)
    looked = {key: text for key, text in passed.items() if len(seen[key]) >= MIN_LOOKS}
    lost = {key: text for key, text in looked.items() if text not in stored}
    return Counts(
        passed=len(passed),
        looked_at=len(looked),
        stored=sum(text in stored for text in passed.values()),
        doubled=sum(stored[text] > 1 for text in passed.values()),
        delivered_twice=sum(number > 1 for number in closed.values()),
        lost=tuple(lost.values()),
        gone_with_killed=sum(_is_gone(seen[key], faults) for key in lost),
        unclosed=unclosed,
    )


def describe_times(times: Sequence[float]) -> str:
    """Return the least, the middle and the longest of some times."""
    if not times:
        return "-"
    return f"{min(times):.1f} / {median(times):.1f} / {max(times):.1f}"


def _is_gone(looks: Sequence[Look], faults: Sequence[Fault]) -> bool:
    kills = [one for one in faults if one.name == "killed"]
    return any(
        all(look.watcher == kill.watcher for look in looks)
        and looks[MIN_LOOKS - 1].time_s > kill.at_s - LAST_S
        for kill in kills
    )


def _read_store(database: Database) -> tuple[Counter[str], int, Counter[str]]:
    with database.reading() as connection:
        rows = connection.execute(sa.select(passes.c.text, passes.c.progress)).all()
        documents = connection.execute(sa.select(deliveries.c.document)).scalars().all()
    closed = Counter(
        str(one["data"]["text"])
        for one in (json.loads(d) if isinstance(d, str) else d for d in documents)
        if one["type"] == "pass.closed"
    )
    return Counter(row.text for row in rows), sum(r.progress != "closed" for r in rows), closed
