"""Pictures that cameras have sent to the gateway, on their way to the watcher that reads them.

A picture stays until its passes are stored, so a watcher that dies loses none. Then its row
keeps the digest alone, so that a message which a camera sends again is known.
"""

from __future__ import annotations

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
"""Largest size of all of them."""
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
            TooManyWaiting: Others of this camera wait already, and nobody reads them.
        """
        columns, values = pushed_pictures.c, vars(picture) | {"received_s": self._clock()}
        size = sa.func.coalesce(sa.func.sum(sa.func.length(columns.jpeg)), 0)
        waiting = sa.select(sa.func.count(), size).where(columns.camera == picture.camera, WAITS)
        with self._database.writing() as connection:
            count, size_bytes = connection.execute(waiting).one()
            if count >= MAX_WAITING or size_bytes + len(picture.jpeg) > MAX_WAITING_BYTES:
                raise TooManyWaiting(
                    f"wanted at most {MAX_WAITING} pictures of {picture.camera} that are not read "
                    f"yet, {MAX_WAITING_BYTES} bytes in all, got {count} of {size_bytes} bytes "
                    "before this one; does `plates watch` run?"
                )
            row = insert(connection, pushed_pictures).values(values).on_conflict_do_nothing()
            return bool(connection.scalar(row.returning(pushed_pictures.c.number)))

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
        own = sa.select(*columns).where(pushed_pictures.c.camera == camera, WAITS)
        if without:
            own = own.where(pushed_pictures.c.digest.not_in([*without]))
        page = own.order_by(pushed_pictures.c.number).limit(MAX_TAKEN)
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
