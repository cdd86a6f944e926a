"""Reads of the store that the control room needs beside searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import sqlalchemy as sa

from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding import pass_counts
from plate_cameras.store.finding.pass_counts import CameraCount, CountQuery, HourCount
from plate_cameras.store.finding.pass_query import PassPage, PassQuery, Requester
from plate_cameras.store.finding.search import search
from plate_cameras.store.people import audit
from plate_cameras.store.people.audit import AuditQuery, RecordedSearch
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import passes, searches


class StoreReader:
    """Reads for people and programs that may see some cameras only.

    Args:
        clock: Returns the Unix time.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def record(self, requester: Requester, kind: str, query: Mapping[str, Any]) -> int:
        """Begin an entry of the audit, whose count comes later. Return its number."""
        with self._database.writing() as connection:
            now_s = self._clock()
            return audit.record(connection, requester, kind, query, count=0, now_s=now_s)

    def count(self, entry: int, count: int) -> None:
        """Complete an entry of the audit."""
        with self._database.writing() as connection:
            update = sa.update(searches).where(searches.c.number == entry)
            connection.execute(update.values(count=count))

    def page(self, query: PassQuery, requester: Requester) -> PassPage:
        """Return a page of a search that `record` has recorded."""
        with self._database.reading() as connection:
            return search(connection, query, requester.scope)

    def count_by_hour(self, query: CountQuery, scope: Scope) -> list[HourCount]:
        """Return the counts of passes of each hour that has any."""
        with self._database.reading() as connection:
            return pass_counts.count_by_hour(connection, query, scope)

    def count_by_camera(self, query: CountQuery, scope: Scope) -> list[CameraCount]:
        """Return the counts of passes of each camera that has any."""
        with self._database.reading() as connection:
            return pass_counts.count_by_camera(connection, query, scope)

    def picture_of(self, pass_id: str, kind: Literal["crop", "frame"], scope: Scope) -> str:
        """Return the hash of a picture of a pass.

        Raises:
            UnknownName: There is no such pass or picture, or it is not in the scope.
        """
        statement = sa.select(passes.c.camera, passes.c[kind]).where(passes.c.id == pass_id)
        with self._database.reading() as connection:
            row = connection.execute(statement).first()
        if row is None or not row[1] or not scope.sees(row[0]):
            raise UnknownName(f"there is no {kind} of pass {pass_id!r}")
        return str(row[1].hex())

    def searches(self, query: AuditQuery, scope: Scope) -> list[RecordedSearch]:
        """Return entries of the audit, the newest first."""
        with self._database.reading() as connection:
            return audit.read(connection, query, scope)
