"""Pictures that cameras have sent to the gateway, on their way to the watcher that reads them.

A picture stays until its passes are stored, so a watcher that dies loses none. Then its row
keeps the digest alone, so that a message which a camera sends again is known.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import sqlalchemy as sa

from plate_cameras.frames import Clock
from plate_cameras.store.errors import StoreError
from plate_cameras.store.tables.database import Database, insert
from plate_cameras.store.tables.schema import pushed_pictures

MAX_WAITING = 200
"""Pictures of one camera that wait to be read. Then the camera is told to send again later."""
MAX_WAITING_BYTES = 256 * 1024 * 1024
"""Largest size of the waiting pictures of one camera."""
MAX_ALL_BYTES = 2 * 1024**3
"""Largest size of the pictures of all cameras. One camera may have as many bytes as are left for
the others, so that none takes all.

Source: Choudhury and Hahne 1998, dynamic queue length thresholds, with alpha = 1.
"""
MIN_FREE_BYTES = 256 * 1024 * 1024
"""Bytes that pictures leave free on SQLite's disk, for passes and for forgetting pictures. The last
one needs room, too: SQLite writes to its log first."""
MAX_TAKEN = 4
"""Pictures that a watcher takes at once."""
WAITS = pushed_pictures.c.jpeg.is_not(None)


class TooManyWaiting(StoreError):  # noqa: N818 - a state of the queue
    """Nobody reads the camera's pictures as fast as they come."""


@dataclass(frozen=True)
class PushedPicture:
    """A picture with what its message says.

    Attributes:
        digest: Digest of the message, by which one that comes again is known.
        jpeg: The picture, a file in one of the usual formats.
        text: The camera's own reading in Latin look-alikes; empty for none.
        score: Its score, in [0, 1].
        time_s: Unix time of the picture.
        clock: `stream` if the camera has said it, `wall` for the arrival.
    """

    camera: str
    digest: bytes
    jpeg: bytes = field(repr=False)
    text: str
    score: float
    time_s: float
    clock: Clock


class PushedPictures:
    """The pictures in the database. Calls may block.

    Args:
        clock: Returns the Unix time.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def put(self, picture: PushedPicture) -> bool:
        """Keep a picture until it is read. Return false if its message has come before.

        Raises:
            TooManyWaiting: Others wait already, and nobody reads them, or the disk is full.
        """
        values = vars(picture) | {"received_s": self._clock()}
        with self._database.writing() as connection:
            self._check_room(connection, picture)
            row = insert(connection, pushed_pictures).values(values).on_conflict_do_nothing()
            return bool(connection.scalar(row.returning(pushed_pictures.c.number)))

    def _check_room(self, connection: sa.Connection, picture: PushedPicture) -> None:
        """Raise TooManyWaiting if there is no room for a picture."""
        file, new_bytes = self._database.file, len(picture.jpeg)
        if file and (free_bytes := shutil.disk_usage(file).free - new_bytes) < MIN_FREE_BYTES:
            raise TooManyWaiting(
                f"wanted {MIN_FREE_BYTES} bytes free on the disk of the database, got {free_bytes}"
            )
        columns = pushed_pictures.c
        is_own = columns.camera == picture.camera
        sizes = sa.func.sum(sa.func.length(columns.jpeg))
        counts = sa.func.count().filter(is_own), sizes.filter(is_own), sizes
        row = connection.execute(sa.select(*counts).where(WAITS)).one()
        count, own_bytes, all_bytes = (value or 0 for value in row)
        most_bytes = min(MAX_WAITING_BYTES, MAX_ALL_BYTES - all_bytes)
        if count >= MAX_WAITING or own_bytes + new_bytes > most_bytes:
            raise TooManyWaiting(
                f"wanted at most {MAX_WAITING} pictures of {picture.camera} that are not read "
                f"yet, {most_bytes} bytes in all, got {count} of {own_bytes} bytes before this "
                f"one; wanted at most {MAX_ALL_BYTES} bytes of all cameras, got {all_bytes}; does "
                "`plates watch` run?"
            )

    def cameras(self) -> frozenset[str]:
        """Return the cameras of which pictures wait."""
        statement = sa.select(pushed_pictures.c.camera).where(WAITS).distinct()
        with self._database.reading() as connection:
            return frozenset(connection.execute(statement).scalars())

    def waiting(self, camera: str, without: Collection[bytes] = ()) -> list[PushedPicture]:
        """Return the first pictures of a camera that wait, in the order of their arrival.

        Args:
            camera: Name of the camera.
            without: Digests of pictures that are left out.
        """
        columns = [pushed_pictures.c[name] for name in PushedPicture.__dataclass_fields__]
        statement = sa.select(*columns).where(pushed_pictures.c.camera == camera, WAITS)
        if without:
            statement = statement.where(pushed_pictures.c.digest.not_in([*without]))
        page = statement.order_by(pushed_pictures.c.number).limit(MAX_TAKEN)
        with self._database.reading() as connection:
            return [PushedPicture(**row) for row in connection.execute(page).mappings()]

    def finish(self, camera: str, digest: bytes) -> None:
        """Forget a picture that was read, except for its digest."""
        columns = pushed_pictures.c
        change = sa.update(pushed_pictures).where(
            columns.camera == camera, columns.digest == digest
        )
        with self._database.writing() as connection:
            connection.execute(change.values(jpeg=None, text="", score=0.0))
