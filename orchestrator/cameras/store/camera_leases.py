"""Leases of cameras: which of several watchers follows which camera. In SQL, by its clock alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.cameras.store.database import Database, insert
from orchestrator.cameras.store.schema import camera_leases, watchers

LEASE_S = 6.0
"""Time to live of a lease that is not renewed: rounds are a second apart, so five may fail."""
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


class CameraLeases:
    """Gives the cameras of a configuration to the watchers that ask, in even shares.

    Args:
        database: The database.
        lease_s: Time to live of a lease.
    """

    def __init__(self, database: Database, lease_s: float = LEASE_S) -> None:
        self.lease_s = lease_s
        self._database = database

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

        Raises:
            StoreError: The database cannot be used.
        """
        with self._database.writing() as connection:
            now_s = read_clock(connection)
            _add_cameras(connection, cameras)
            epochs = self._renew(connection, watcher, cameras, now_s)
            if not takes:
                return Holding(epochs, len(epochs))
            live = self._announce(connection, watcher, now_s)
            quota = share_of(len(cameras), live, watcher, most)
            if (wanted := quota - len(epochs)) > 0:
                epochs |= self._take(connection, watcher, cameras, now_s=now_s, count=wanted)
            return Holding(epochs, quota)

    def give_back(self, watcher: str, cameras: Collection[str]) -> None:
        """End leases of a watcher at once, so that others can take the cameras."""
        mine = (LEASES.watcher == watcher, LEASES.camera.in_(cameras))
        with self._database.writing() as connection:
            connection.execute(
                sa.update(camera_leases).where(*mine).values(watcher="", expires_s=0.0)
            )

    def leave(self, watcher: str) -> None:
        """End all leases of a watcher, and its share."""
        with self._database.writing() as connection:
            mine = sa.update(camera_leases).where(LEASES.watcher == watcher)
            connection.execute(mine.values(watcher="", expires_s=0.0))
            connection.execute(sa.delete(watchers).where(watchers.c.name == watcher))

    def _announce(self, connection: sa.Connection, watcher: str, now_s: float) -> list[str]:
        """Write that a watcher lives; return the names of all that do."""
        statement = insert(connection, watchers).values(name=watcher, seen_s=now_s)
        seen = {"seen_s": statement.excluded.seen_s}
        connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=seen))
        forgotten = (
            sa.select(watchers.c.name)
            .where(watchers.c.seen_s < now_s - FORGOTTEN_S)
            .with_for_update(skip_locked=True)
        )
        if names := list(connection.execute(forgotten).scalars()):
            connection.execute(sa.delete(watchers).where(watchers.c.name.in_(names)))
        live = sa.select(watchers.c.name).where(watchers.c.seen_s > now_s - self.lease_s)
        return list(connection.execute(live).scalars())

    def _renew(
        self, connection: sa.Connection, watcher: str, cameras: Collection[str], now_s: float
    ) -> dict[str, int]:
        renewed = (
            sa.update(camera_leases)
            .where(LEASES.watcher == watcher, LEASES.camera.in_(cameras))
            .values(expires_s=now_s + self.lease_s)
            .returning(LEASES.camera, LEASES.epoch)
        )
        return {row.camera: row.epoch for row in connection.execute(renewed)}

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
        free = (
            sa.select(LEASES.camera)
            .where(LEASES.camera.in_(cameras), LEASES.expires_s <= now_s)
            .order_by(LEASES.expires_s, LEASES.camera)
            .limit(count)
            .with_for_update(skip_locked=True)
        )
        names = list(connection.execute(free).scalars())
        times = {"taken_s": now_s, "expires_s": now_s + self.lease_s}
        taken = (
            sa.update(camera_leases)
            .where(LEASES.camera.in_(names))
            .values(watcher=watcher, epoch=LEASES.epoch + 1, **times)
            .returning(LEASES.camera, LEASES.epoch)
        )
        return {row.camera: row.epoch for row in connection.execute(taken)}


def share_of(cameras: int, live: Sequence[str], watcher: str, most: int = 0) -> int:
    """Return the number of cameras that are a watcher's share.

    Shares differ by at most one; the watchers whose names sort first have the larger ones.

    Args:
        cameras: Number of cameras.
        live: Names of the watchers.
        watcher: One of them.
        most: Largest share; 0 for no limit.
    """
    each, more = divmod(cameras, len(live))
    share = each + (sorted(live).index(watcher) < more)
    return min(share, most) if most else share


def read_clock(connection: sa.Connection) -> float:
    """Return the Unix time of the database."""
    if connection.dialect.name == "postgresql":
        statement = "SELECT extract(epoch FROM clock_timestamp())::double precision"
    else:
        statement = "SELECT (julianday('now') - 2440587.5) * 86400.0"
    return float(connection.exec_driver_sql(statement).scalar_one())


def _add_cameras(connection: sa.Connection, cameras: Collection[str]) -> None:
    known = set(connection.execute(sa.select(LEASES.camera)).scalars())
    if missing := sorted(set(cameras) - known):
        row = {"watcher": "", "epoch": 0, "taken_s": 0.0, "expires_s": 0.0}
        statement = insert(connection, camera_leases).on_conflict_do_nothing()
        connection.execute(statement, [{**row, "camera": name} for name in missing])
