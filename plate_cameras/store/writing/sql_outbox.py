"""The outbox in SQL."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import sqlalchemy as sa

from orchestrator.host.toml_files import show
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.store.tables.database import Database, among
from plate_cameras.store.tables.schema import deliveries

LOG = logging.getLogger(__name__)
WAITING, CONFIRMED, ABANDONED = "waiting", "confirmed", "abandoned"
COLUMNS = deliveries.c
IS_WAITING = COLUMNS.state == sa.literal_column(f"'{WAITING}'")
"""The condition of the partial indexes, in the form that they have."""


class SqlOutbox:
    """Gives out deliveries, and records their outcomes; see `Outbox`.

    A pass's deliveries to a sink are given out one after the other: the next one is due when the
    one before it is confirmed or abandoned.
    """

    def __init__(self, database: Database, store_clock: Callable[[], float] | None = None) -> None:
        self._database, self._store_clock = database, store_clock

    def claim(self, sink: str, limit: int, now_s: float, lease_s: float) -> list[Delivery]:
        """Take deliveries of a sink that are due, the oldest first.

        Nobody else gets them until the lease has run out. Each claim counts as an attempt, so that
        a delivery that ends its process is counted, too.
        """
        with self._database.writing() as connection:
            parameters = {"sink": sink, "now_s": now_s, "most": limit}
            rows = connection.execute(_select_due(), parameters).all()
            if rows:
                lease = {"numbers": [row.number for row in rows], "until_s": now_s + lease_s}
                connection.execute(_make_lease(connection.dialect.name), lease)
                passes = [row.pass_number for row in rows]
                _move_followers(connection, sink, passes, now_s + lease_s)
        rows = sorted(rows, key=lambda row: row.number)
        return [delivery for row in rows if (delivery := self._read(row, now_s))]

    def confirm(self, deliveries: Sequence[Delivery], now_s: float) -> None:
        values = {"state": CONFIRMED, "reason": "", "finished_s": now_s, "kept_s": self._kept_s()}
        self._update(deliveries, now_s, **values)

    def abandon(self, delivery: Delivery, reason: str, now_s: float) -> None:
        values = {"state": ABANDONED, "reason": reason, "finished_s": now_s}
        values |= {"kept_s": self._kept_s()}
        self._update([delivery], now_s, _is_claim_of(delivery), **values)

    def postpone(self, delivery: Delivery, reason: str, due_s: float) -> None:
        """Record a failed attempt; the delivery and those after it are due again at a Unix time."""
        self._update([delivery], due_s, _is_claim_of(delivery), due_s=due_s, reason=reason)

    def release(self, delivery: Delivery, due_s: float) -> None:
        values = {"due_s": due_s, "attempts": delivery.attempts}
        self._update([delivery], due_s, _is_claim_of(delivery), **values)

    def hasten(self, sink: str, now_s: float) -> None:
        with self._database.writing() as connection:
            connection.execute(
                sa.update(deliveries)
                .where(COLUMNS.sink == sink, COLUMNS.state == WAITING, COLUMNS.reason != "")
                .where(COLUMNS.due_s > now_s)
                .values(due_s=now_s)
            )

    def waiting(self, sink: str) -> int:
        statement = sa.select(sa.func.count()).select_from(deliveries)
        statement = statement.where(COLUMNS.sink == sink, COLUMNS.state == WAITING)
        with self._database.reading() as connection:
            return int(connection.execute(statement).scalar_one())

    def replay(self, sink: str, since_s: float, now_s: float) -> int:
        """Make all deliveries of a sink that were created since a time due again."""
        values = {"state": WAITING, "due_s": now_s, "finished_s": None, "attempts": 0, "reason": ""}
        values |= {"kept_s": now_s}
        update = sa.update(deliveries).where(COLUMNS.sink == sink, COLUMNS.created_s >= since_s)
        with self._database.writing() as connection:
            return connection.execute(update.values(values)).rowcount

    def _read(self, row: Any, now_s: float) -> Delivery | None:
        """Return a claimed delivery. One that is damaged is abandoned, and holds up no other."""
        delivery = Delivery(row.id, row.sink, {}, _since(row), row.attempts)
        try:
            document = json.loads(row.document)
            if not isinstance(document, dict):
                raise ValueError(f"wanted a table, got {show(document)}")
        except ValueError as error:
            LOG.error("sink %s: gave up %s: its document is damaged: %s", row.sink, row.id, error)
            self.abandon(delivery, f"its document is damaged: {error}", now_s)
            return None
        return replace(delivery, document=document)

    def _kept_s(self) -> float | None:
        """Return the store's time, from which the age of finished deliveries counts."""
        return self._store_clock() if self._store_clock else None

    def _update(
        self,
        claimed_deliveries: Sequence[Delivery],
        followers_due_s: float,
        *conditions: sa.ColumnElement[bool],
        **values: Any,
    ) -> None:
        """Change waiting deliveries of a sink, and say when those after them are due."""
        sink, ids = claimed_deliveries[0].sink, [delivery.id for delivery in claimed_deliveries]
        with self._database.writing() as connection:
            is_changed = among(connection.dialect.name, COLUMNS.id, "ids")
            is_waiting = (is_changed, COLUMNS.sink == sink, COLUMNS.state == WAITING)
            statement = sa.update(deliveries).where(*is_waiting, *conditions).values(values)
            numbers_of_passes = statement.returning(COLUMNS.pass_number)
            rows = connection.execute(numbers_of_passes, {"ids": ids}).all()
            if rows:
                numbers = [row.pass_number for row in rows]
                _move_followers(connection, sink, numbers, followers_due_s)


def _since(row: Any) -> float:
    """Return the store's time from which the age of a delivery counts."""
    return float(row.created_s if row.kept_s is None else row.kept_s)


def _is_claim_of(delivery: Delivery) -> sa.ColumnElement[bool]:
    """Return the condition that nobody has claimed or replayed a delivery since it was given out.

    A deliverer that comes back after its lease has ended must not give back what another one sends.
    """
    return COLUMNS.attempts == delivery.attempts + 1


@cache
def _select_due() -> sa.Select[Any]:
    """Return the statement that finds, and locks, what is due."""
    earlier = deliveries.alias("earlier")
    is_blocked = sa.exists().where(
        earlier.c.sink == COLUMNS.sink,
        earlier.c.pass_number == COLUMNS.pass_number,
        earlier.c.number < COLUMNS.number,
        earlier.c.state == sa.literal_column(f"'{WAITING}'"),
    )
    is_due = COLUMNS.due_s <= sa.bindparam("now_s")
    return (
        sa.select(
            *(column for column in COLUMNS if column is not COLUMNS.document),
            sa.cast(COLUMNS.document, sa.Text).label("document"),
        )
        .where(COLUMNS.sink == sa.bindparam("sink"), IS_WAITING, is_due, ~is_blocked)
        .order_by(COLUMNS.due_s, COLUMNS.number)
        .limit(sa.bindparam("most", type_=sa.Integer))
        .with_for_update(skip_locked=True, of=deliveries)
    )


@cache
def _make_lease(dialect: str) -> sa.Update:
    """Return the statement that counts an attempt, and keeps the deliveries for it."""
    statement = sa.update(deliveries).where(among(dialect, COLUMNS.number, "numbers"))
    return statement.values(due_s=sa.bindparam("until_s"), attempts=COLUMNS.attempts + 1)


@cache
def _postpone_followers(dialect: str) -> sa.Update:
    of_passes = among(dialect, COLUMNS.pass_number, "passes")
    update = sa.update(deliveries).where(COLUMNS.sink == sa.bindparam("of"), of_passes, IS_WAITING)
    return update.values(due_s=sa.bindparam("until_s"))


def _move_followers(connection: sa.Connection, sink: str, passes: list[int], due_s: float) -> None:
    """Set when the other waiting deliveries of these passes are due.

    They come after the claimed ones. If they were due earlier, each claim would read them in vain.
    """
    parameters = {"of": sink, "passes": passes, "until_s": due_s}
    connection.execute(_postpone_followers(connection.dialect.name), parameters)
