"""People's commands to open gates: from the control room, through the database, to a watcher.

A command is a record of an opening whose outcome is not known yet. A watcher takes it before it
asks the relay, so no command is carried out twice. A command that no watcher takes in time is not
carried out: another vehicle may stand before the gate by then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, replace

import sqlalchemy as sa

from plate_cameras.clocks import steady_s
from plate_cameras.store.errors import ChangedMeanwhile, UnknownName
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.openings.gate_openings import (
    BEGUN,
    COLUMNS,
    FAILED,
    REQUESTED,
    GateOpening,
)
from plate_cameras.store.people import audit
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import Database, lock
from plate_cameras.store.tables.schema import gate_openings, passes

MAX_AGE_S = 5.0
"""Greatest age at which a watcher takes a command."""
TAKEN_WITHIN_S = MAX_AGE_S + 2.0
"""Age from which on certainly no watcher takes a command."""
ADVISORY_LOCK = 0x67617465
"""Number of the lock in PostgreSQL. Nobody else puts a command between a check and its command."""
MAX_COMMANDS = 100
"""Commands that a watcher takes at once."""
SAME_OF_A_COMMAND = ("gate", "pass_id", "person", "remark")
"""Fields that a command has again when it is sent twice."""


class GateCommands:
    """The commands in the database. Calls may block.

    Args:
        clock: Returns the Unix time.
        store_clock: Returns the time of the store's clock, by which ages count.
    """

    def __init__(
        self, database: Database, clock: Callable[[], float], store_clock: Callable[[], float]
    ) -> None:
        self._database, self._clock, self._store_clock = database, clock, store_clock

    def send(
        self, gate: str, cameras: Collection[str], pass_id: str, requester: Requester, id_: str = ""
    ) -> GateOpening:
        """Put a command, and record it in the audit.

        Args:
            gate: Name of the gate.
            cameras: The gate's cameras that the requester may see.
            pass_id: Id of the pass for which it opens; empty for none.
            requester: The person, with the reason.
            id_: Id of the command; empty for a new one. If the person has sent it already, nothing
                is put.

        Raises:
            UnknownName: None of the cameras has such a pass.
            ChangedMeanwhile: Another command for this gate waits, or has this id.
        """
        kept_s = self._store_clock()
        with self._database.writing() as connection:
            lock(connection, ADVISORY_LOCK)
            camera, text = _find_vehicle(connection, cameras, pass_id)
            command = GateOpening(gate, camera, pass_id, text, "", "", REQUESTED, "", self._clock())
            command = replace(command, person=requester.who, remark=requester.why)
            if id_:
                command = replace(command, id=id_)
                if sent_command := _find_sent(connection, command):
                    return sent_command
            _check_alone(connection, gate, kept_s - MAX_AGE_S)
            query = {"gate": gate} | ({"id": pass_id} if pass_id else {})
            now_s = command.requested_s
            audit.record(connection, requester, "open gate", query, count=1, now_s=now_s)
            row = asdict(command) | {"kept_s": kept_s}
            connection.execute(sa.insert(gate_openings).values(row))
        return command

    def take(
        self,
        gates: Collection[str],
        late: str,
        begin: Callable[[str], None] = lambda _: None,
        withdraw: Callable[[str], None] = lambda _: None,
    ) -> list[GateOpening]:
        """Take the commands for some gates, each of them once.

        Args:
            gates: Names of the gates.
            late: Reason of the failure of those that are too old.
            begin: Is called with the id of each command before it may be taken.
            withdraw: Is called with its id if it was not taken: another watcher has it.
        """
        columns = gate_openings.c
        waits = (columns.outcome == REQUESTED, columns.gate.in_(gates))
        with self._database.reading() as connection:
            page = sa.select(columns.id).where(*waits).limit(MAX_COMMANDS)
            ids = connection.execute(page).scalars().all()
        if not ids:
            return []
        for id_ in ids:
            begin(id_)
        update = sa.update(gate_openings).where(columns.id.in_(ids), columns.outcome == REQUESTED)
        now_s, asked_s = self._store_clock(), steady_s()
        with self._database.writing() as connection:
            now_s += steady_s() - asked_s  # SQLite's lock may have come seconds later
            is_old = columns.kept_s < now_s - MAX_AGE_S
            connection.execute(update.where(is_old).values(outcome=FAILED, reason=late))
            rows = connection.execute(update.values(outcome=BEGUN).returning(*COLUMNS)).mappings()
            commands = [GateOpening(**row) for row in rows]
        for id_ in {*ids} - {command.id for command in commands}:
            withdraw(id_)
        return commands

    def find(self, id_: str, scope: Scope, nobody: str) -> GateOpening:
        """Return a command as it is now.

        Args:
            id_: Id of the record.
            scope: The cameras.
            nobody: Reason of the failure of one that nobody has taken in time.

        Raises:
            UnknownName: There is none in the scope. The data of its plate may have been deleted.
        """
        columns = gate_openings.c
        statement = sa.select(*COLUMNS, columns.kept_s).where(columns.id == id_)
        with self._database.reading() as connection:
            row = connection.execute(statement).mappings().first()
        if row is None or not scope.sees(row["camera"]):
            raise UnknownName(f"there is no opening {id_!r}")
        command = GateOpening(**{name: row[name] for name in row if name != "kept_s"})
        if command.outcome == REQUESTED and row["kept_s"] < self._store_clock() - TAKEN_WITHIN_S:
            return replace(command, outcome=FAILED, reason=nobody)
        return command


def _find_sent(connection: sa.Connection, command: GateOpening) -> GateOpening | None:
    """Return the command that was sent before; None if it is new.

    Raises:
        ChangedMeanwhile: Another one has this id.
    """
    statement = sa.select(*COLUMNS).where(gate_openings.c.id == command.id)
    row = connection.execute(statement).mappings().first()
    if row is None:
        return None
    sent_command = GateOpening(**row)
    if any(getattr(sent_command, name) != getattr(command, name) for name in SAME_OF_A_COMMAND):
        raise ChangedMeanwhile(f"gate {command.gate}: another command has the id {command.id}")
    return sent_command


def _check_alone(connection: sa.Connection, gate: str, from_s: float) -> None:
    """Check that no command for a gate that is younger than a time has no outcome yet."""
    columns = gate_openings.c
    is_open = sa.and_(columns.outcome.in_((REQUESTED, BEGUN)), columns.person != "")
    waits = (columns.gate == gate, is_open, columns.kept_s >= from_s)
    if connection.scalar(sa.select(columns.id).where(*waits).limit(1)):
        raise ChangedMeanwhile(f"gate {gate}: another command to open it waits")


def _find_vehicle(
    connection: sa.Connection, cameras: Collection[str], pass_id: str
) -> tuple[str, str]:
    """Return the camera and the text of a pass; of none, the first camera and no text."""
    if not pass_id:
        return next(iter(cameras)), ""
    statement = sa.select(passes.c.camera, passes.c.text).where(passes.c.id == pass_id)
    row = connection.execute(statement).first()
    if row is None or row.camera not in cameras:
        raise UnknownName(f"the cameras of this gate have no pass {pass_id!r}")
    return row.camera, row.text
