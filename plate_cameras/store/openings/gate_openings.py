"""Records of gates: openings, failures and refusals, with the vehicles."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.store.errors import RejectedValue
from plate_cameras.store.finding.pass_query import LIMIT, MAX_PAGE, parse_cursor
from plate_cameras.store.scope import EVERYTHING, Scope
from plate_cameras.store.tables.database import insert
from plate_cameras.store.tables.json_values import (
    read_columns,
    to_optional_number,
    to_place,
    to_text,
    to_time,
)
from plate_cameras.store.tables.schema import gate_openings, joined_passes, passes

OPENED, UNKNOWN, FAILED, REFUSED = "opened", "unknown", "failed", "refused"
"""Outcomes. Without a clear answer of the relay it is unknown whether the gate has opened; after a
failure it has not. A refused vehicle is on a list of the gate, but a condition was not met."""
REQUESTED, BEGUN = "requested", "begun"
"""Outcomes that are not settled: a person's command waits, or a watcher has taken it. An opening
for a list has begun when its relay is about to be asked."""


def _new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class GateOpening:
    """The record of a gate about one vehicle.

    Attributes:
        camera: Name of the camera; of a person's command, one of the gate's that the person sees.
        pass_id: Id of the pass; empty if a person opened the gate for none.
        outcome: `opened`, `unknown`, `failed` or `refused`; `requested` and `begun` before.
        reason: Reason of any other outcome than an opening.
        requested_s: Unix time at which the relay was asked, or the refusal decided.
        delay_s: Seconds from the first frame in which the plate was readable to the relay's answer.
            If a zone, a line or a direction came later, they count from that frame. None without a
            relay's answer, and for files, whose frames have no time of day.
        id: Id of the record, so that none is written twice.
        person: Name of the person who opened the gate; empty if it opened for a list.
        remark: The person's reason.
    """

    gate: str
    camera: str
    pass_id: str
    text: str
    list: str
    entry_text: str
    outcome: str
    reason: str
    requested_s: float
    delay_s: float | None = None
    id: str = field(default_factory=_new_id)
    person: str = ""
    remark: str = ""

    def concerns(self, text: str) -> bool:
        """Tell whether it is about a plate."""
        return text in (self.text, self.entry_text)


AgedOpening = tuple[GateOpening, float]
"""An opening, and its age in seconds."""


@dataclass(frozen=True)
class OpeningPage:
    """Openings, the newest first.

    Attributes:
        cursor: The `cursor` for the next page; `""` after the last.
    """

    openings: tuple[GateOpening, ...]
    cursor: str = ""


SETTLED = ("text", "list", "entry_text", "outcome", "reason", "requested_s", "delay_s")
"""Columns of an opening that its outcome changes: the text may have changed since it began."""
NAMES = tuple(GateOpening.__dataclass_fields__)
COLUMNS = [gate_openings.c[name] for name in NAMES]
READ_COLUMNS = {
    **{name: (to_text, "") for name in NAMES if name not in ("id", "requested_s", "delay_s")},
    "requested_s": (to_time, 0.0),
    "delay_s": (to_optional_number, None),
}
"""The columns of an opening, with the values that stand for damaged ones."""


def write_openings(
    connection: sa.Connection, openings: Sequence[GateOpening], kept_s: float | None = None
) -> None:
    """Write openings, with the store's time. Of those that are there, only begun ones change."""
    if openings:
        statement = insert(connection, gate_openings)
        statement = statement.on_conflict_do_update(
            index_elements=[gate_openings.c.id],
            set_={name: statement.excluded[name] for name in SETTLED},
            where=gate_openings.c.outcome == BEGUN,
        )
        connection.execute(
            statement, [asdict(opening) | {"kept_s": kept_s} for opening in openings]
        )


def read_page(
    connection: sa.Connection,
    scope: Scope,
    *,
    limit: int = LIMIT,
    cursor: str = "",
    pass_id: str | None = None,
) -> OpeningPage:
    """Return a page of openings, the newest first; see `OpeningLog.page`."""
    if not 1 <= limit <= MAX_PAGE:
        raise ParameterError(f"limit: wanted 1 to {MAX_PAGE}, got {limit}")
    place = gate_openings.c.requested_s, gate_openings.c.number
    statement = sa.select(*COLUMNS, gate_openings.c.number)
    statement = statement.order_by(*(column.desc() for column in place))
    if (after := parse_cursor(cursor)) is not None:
        statement = statement.where(sa.tuple_(*place) < sa.tuple_(*after))
    if scope.cameras is not None:
        statement = statement.where(gate_openings.c.camera.in_(scope.cameras))
    if pass_id is not None:
        # A gate knows a vehicle by the id of its own watcher, which may be the second of a pass.
        second = sa.select(joined_passes.c.id).join_from(joined_passes, passes)
        ids = sa.union_all(sa.select(sa.literal(pass_id)), second.where(passes.c.id == pass_id))
        statement = statement.where(gate_openings.c.pass_id.in_(ids))
    rows = connection.execute(statement.limit(limit + 1)).mappings().all()
    last = rows[limit - 1] if len(rows) > limit else None
    cursor = f"{to_place(last['requested_s'])!r}_{last['number']}" if last else ""
    return OpeningPage(tuple(_hide_foreign_lists(rows[:limit], scope)), cursor)


def read_recent(
    connection: sa.Connection, now_s: float, within_s: float, *, is_kept: bool
) -> list[AgedOpening]:
    """Return what counts as an opening with its age in seconds, the oldest first.

    Openings count for the hold-off, for the time that the gate is open, and for the rule that a
    gate is asked once for a pass. Begun ones count, too: their watcher may have died while the
    relay had the request. A person's command has begun when a watcher has taken it.

    Args:
        connection: The transaction.
        now_s: Time of the store's clock, or the Unix time.
        within_s: The greatest age.
        is_kept: True if ages are counted by the store's clock, from when a record was stored.
    """
    column = gate_openings.c.kept_s if is_kept else gate_openings.c.requested_s
    counts = gate_openings.c.outcome.in_((OPENED, UNKNOWN, BEGUN))
    statement = sa.select(*COLUMNS, column.label("since_s")).where(
        column >= now_s - within_s, counts
    )
    rows = connection.execute(statement.order_by(column)).mappings()
    # SQLite stores any kind of value. A damaged time counts as now: no gate opens by it.
    times_s = ((row, row["since_s"]) for row in rows)
    ages_s = [
        (row, max(0.0, now_s - since_s) if isinstance(since_s, (int, float)) else 0.0)
        for row, since_s in times_s
    ]
    return [(_to_opening(row), age_s) for row, age_s in ages_s]


def read_openings_of(connection: sa.Connection, text: str, scope: Scope) -> tuple[GateOpening, ...]:
    """Return everything that gates did for a plate in a scope, for its owner.

    The names of the people who opened gates are left out: they are not data of the plate's owner.
    """
    statement = (
        sa.select(*COLUMNS).where(_concerns(text, scope)).order_by(gate_openings.c.requested_s)
    )
    if scope.cameras is not None:
        statement = statement.where(gate_openings.c.camera.in_(scope.cameras))
    openings = _hide_foreign_lists(connection.execute(statement).mappings(), scope)
    return tuple(replace(opening, person="") for opening in openings)


def delete_openings_of(connection: sa.Connection, text: str) -> int:
    """Delete everything that gates did for a plate. Return the number of records."""
    return connection.execute(sa.delete(gate_openings).where(_concerns(text, EVERYTHING))).rowcount


def to_line(opening: GateOpening) -> bytes:
    """Return an opening as a line of JSON."""
    return json.dumps(asdict(opening), ensure_ascii=False).encode() + b"\n"


def parse_line(line: bytes) -> GateOpening:
    """Return the opening of a line.

    Raises:
        RejectedValue: The line is none of ours, or was cut off.
    """
    try:
        return GateOpening(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise RejectedValue(f"wanted an opening as JSON, got {len(line)} bytes") from error


def _concerns(text: str, scope: Scope) -> sa.ColumnElement[bool]:
    """Return the condition that an opening is about a plate, by its text or a list's entry."""
    has_entry = gate_openings.c.entry_text == text
    if scope.groups:
        has_entry = sa.and_(has_entry, gate_openings.c.list.in_(scope.lists))
    return sa.or_(gate_openings.c.text == text, has_entry)


def _hide_foreign_lists(rows: Iterable[sa.RowMapping], scope: Scope) -> Iterator[GateOpening]:
    """Return openings, without lists that the scope does not use."""
    for opening in _to_openings(rows):
        yield opening if scope.uses(opening.list) else replace(opening, list="", entry_text="")


def _to_openings(rows: Iterable[sa.RowMapping]) -> Iterator[GateOpening]:
    return map(_to_opening, rows)


def _to_opening(row: sa.RowMapping) -> GateOpening:
    return GateOpening(id=row["id"], **read_columns(f"opening {row['id']}", row, READ_COLUMNS))
