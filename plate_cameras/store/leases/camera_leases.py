"""Leases of cameras: which of several watchers follows which camera.

A renewal changes a number in the row, the heartbeat. Each watcher finds out by its own steady clock
how long a heartbeat has stood still. So the clocks of machines need not agree, and a step of the
database's clock takes no camera from a watcher, and keeps none from the others.

Source: the lock client of Amazon DynamoDB works like this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from plate_cameras.clocks import steady_s
from plate_cameras.store.tables.database import Database, insert, is_postgresql
from plate_cameras.store.tables.schema import camera_leases, watchers

LEASE_S = 4.5
"""Time to live of a lease that is not renewed: rounds are 0.5 s apart, so eight may fail."""
FORGOTTEN_S = 3600.0
"""Time after which a watcher that was not seen is deleted."""
LEASES = camera_leases.c


@dataclass(frozen=True)
class Holding:
    """The cameras of a watcher after a round.

    Attributes:
        epochs: Epoch of the lease of each camera that it holds.
        quota: Number of cameras that are its share.
    """

    epochs: Mapping[str, int]
    quota: int


class Heartbeats:
    """Tells how long values have not changed, by the clock of this process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._heartbeats: dict[str, tuple[Hashable, float]] = {}

    def note(self, values: Mapping[str, Hashable]) -> None:
        """Take over the present values.

        The age of a value counts from this call and not from the query before it, because a
        renewal may lie between them.
        """
        now_s = self._clock()
        self._heartbeats = {
            name: last
            if (last := self._heartbeats.get(name)) and last[0] == value
            else (value, now_s)
            for name, value in values.items()
        }

    def still_for(self, seconds: float) -> dict[str, Hashable]:
        """Return the names and values that have not changed for some time."""
        until_s = self._clock() - seconds
        heartbeats = self._heartbeats.items()
        return {name: value for name, (value, since_s) in heartbeats if since_s <= until_s}


class CameraLeases:
    """Gives the cameras of a configuration to the watchers that ask, in even shares.

    Args:
        lease_s: Time to live of a lease.
    """

    def __init__(
        self, database: Database, lease_s: float = LEASE_S, clock: Callable[[], float] = steady_s
    ) -> None:
        self.lease_s = lease_s
        self._database = database
        self._of_leases, self._of_watchers = Heartbeats(clock), Heartbeats(clock)

    def hold(
        self, watcher: str, cameras: Collection[str], *, most: int = 0, takes: bool = True
    ) -> Holding:
        """Renew the leases of a watcher, and take free ones up to its share.

        A lease that has expired is renewed, too, if nobody has taken it meanwhile.

        Args:
            watcher: Name of the watcher.
            cameras: Names of all cameras that are shared.
            most: Most cameras that it takes; 0 for no limit.
            takes: True if it has a share. Without one it only renews what it holds.
        """
        with self._database.writing() as connection:
            now_s = read_clock(connection)
            _add_cameras(connection, cameras)
            epochs = self._renew(connection, watcher, cameras, now_s)
            self._note_heartbeats(connection)
            if not takes:
                return Holding(epochs, len(epochs))
            live = self._announce(connection, watcher, now_s)
            quota = share_of(len(cameras), live, watcher, most)
            if (count := quota - len(epochs)) > 0:
                epochs |= self._take(connection, watcher, cameras, now_s=now_s, count=count)
            return Holding(epochs, quota)

    def give_back(self, watcher: str, cameras: Collection[str]) -> None:
        """End leases of a watcher at once, so that others can take the cameras."""
        is_own = (LEASES.watcher == watcher, LEASES.camera.in_(cameras))
        with self._database.writing() as connection:
            connection.execute(
                sa.update(camera_leases).where(*is_own).values(watcher="", expires_s=0.0)
            )

    def leave(self, watcher: str) -> None:
        """End all leases of a watcher, and its share."""
        with self._database.writing() as connection:
            statement = sa.update(camera_leases).where(LEASES.watcher == watcher)
            connection.execute(statement.values(watcher="", expires_s=0.0))
            connection.execute(sa.delete(watchers).where(watchers.c.name == watcher))

    def _note_heartbeats(self, connection: sa.Connection) -> None:
        """Note the present heartbeats."""
        leases = connection.execute(sa.select(camera_leases).where(LEASES.watcher != "")).all()
        self._of_leases.note({row.camera: _beat_of(row) for row in leases})
        rows = connection.execute(sa.select(watchers)).all()
        self._of_watchers.note({row.name: (row.beat, row.seen_s) for row in rows})

    def _announce(self, connection: sa.Connection, watcher: str, now_s: float) -> list[str]:
        """Write that a watcher lives; return the names of all that do."""
        statement = insert(connection, watchers).values(name=watcher, seen_s=now_s, beat=1)
        changes = {"seen_s": statement.excluded.seen_s, "beat": watchers.c.beat + 1}
        connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changes))
        if forgotten_names := self._of_watchers.still_for(FORGOTTEN_S).keys() - {watcher}:
            _forget(connection, forgotten_names)
        dead = self._of_watchers.still_for(self.lease_s).keys()
        names = connection.execute(sa.select(watchers.c.name)).scalars()
        return [name for name in names if name == watcher or name not in dead]

    def _renew(
        self, connection: sa.Connection, watcher: str, cameras: Collection[str], now_s: float
    ) -> dict[str, int]:
        statement = (
            sa.update(camera_leases)
            .where(LEASES.watcher == watcher, LEASES.camera.in_(cameras))
            .values(expires_s=now_s + self.lease_s, beat=LEASES.beat + 1)
            .returning(LEASES.camera, LEASES.epoch)
        )
        return {row.camera: row.epoch for row in connection.execute(statement)}

    def _take(
        self,
        connection: sa.Connection,
        watcher: str,
        cameras: Collection[str],
        *,
        now_s: float,
        count: int,
    ) -> dict[str, int]:
        """Take free leases; those that another watcher takes at this moment are left to it."""
        expired = self._of_leases.still_for(self.lease_s)
        is_free = sa.or_(LEASES.watcher == "", LEASES.camera.in_(sorted(expired)))
        free_leases = (
            sa.select(camera_leases)
            .where(LEASES.camera.in_(cameras), LEASES.watcher != watcher, is_free)
            .order_by(LEASES.watcher != "", LEASES.camera)
            .limit(count)
            .with_for_update(skip_locked=True)
        )
        # A lease that was renewed since it was looked at is not free; now it is locked.
        rows = connection.execute(free_leases).all()
        names = [
            row.camera for row in rows if not row.watcher or expired[row.camera] == _beat_of(row)
        ]
        times = {"taken_s": now_s, "expires_s": now_s + self.lease_s}
        statement = (
            sa.update(camera_leases)
            .where(LEASES.camera.in_(names))
            .values(watcher=watcher, epoch=LEASES.epoch + 1, beat=LEASES.beat + 1, **times)
            .returning(LEASES.camera, LEASES.epoch)
        )
        return {row.camera: row.epoch for row in connection.execute(statement)}


def share_of(cameras: int, live: Sequence[str], watcher: str, most: int = 0) -> int:
    """Return the number of cameras that are a watcher's share.

    Shares differ by at most one; the watchers whose names sort first have the larger ones.

    Args:
        cameras: Number of cameras.
        live: Names of the watchers.
        watcher: One of the watchers.
        most: Largest share; 0 for no limit.
    """
    each, remainder = divmod(cameras, len(live))
    share = each + (sorted(live).index(watcher) < remainder)
    return min(share, most) if most else share


def read_clock(connection: sa.Connection) -> float:
    """Return the Unix time of the database, to store and to show."""
    if is_postgresql(connection):
        statement = "SELECT extract(epoch FROM clock_timestamp())::double precision"
    else:
        statement = "SELECT (julianday('now') - 2440587.5) * 86400.0"
    return float(connection.exec_driver_sql(statement).scalar_one())


def _beat_of(lease: sa.Row[Any]) -> Hashable:
    """Return what each renewal of a lease changes; watchers before 0010 change the time alone."""
    return (lease.watcher, lease.epoch, lease.beat, lease.expires_s)


def _forget(connection: sa.Connection, names: Iterable[str]) -> None:
    """Delete watchers, but for those that another watcher deletes at this moment."""
    is_named = watchers.c.name.in_(sorted(names))
    lockable_names = sa.select(watchers.c.name).where(is_named).with_for_update(skip_locked=True)
    locked_names = list(connection.execute(lockable_names).scalars())
    connection.execute(sa.delete(watchers).where(watchers.c.name.in_(locked_names)))


def _add_cameras(connection: sa.Connection, cameras: Collection[str]) -> None:
    known_cameras = set(connection.execute(sa.select(LEASES.camera)).scalars())
    if new_cameras := sorted(set(cameras) - known_cameras):
        row = {"watcher": "", "epoch": 0, "taken_s": 0.0, "expires_s": 0.0}
        statement = insert(connection, camera_leases).on_conflict_do_nothing()
        connection.execute(statement, [{**row, "camera": name} for name in new_cameras])
