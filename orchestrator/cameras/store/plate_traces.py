"""Erases a plate's text where it stands beside other data that stay.

These are readings and candidates of other vehicles' passes, their events on the way to sinks,
states of cameras, notes, and earlier searches. The rows stay; the text goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store.all_steps import AllSteps
from orchestrator.cameras.store.database import LONG_S, Database
from orchestrator.cameras.store.plate_redaction import redact, redact_value, without_text
from orchestrator.cameras.store.retention import in_steps
from orchestrator.cameras.store.schema import (
    camera_states,
    deliveries,
    gate_openings,
    list_entries,
    list_hits,
    lists,
    passes,
    readings,
    searches,
)
from orchestrator.formats.transliteration import to_cyrillic

__all__ = ["erase_traces", "redact", "without_text"]

BATCH = 200
FOUND_AT_ONCE = 10_000
"""Rows that are looked for, and then changed in small transactions."""
Change = Callable[[Any], dict[str, Any]]


def erase_traces(database: Database, text: str) -> int:
    """Erase a text from everything that stays. Return the number of rows that had it.

    Raises:
        StoreError: A part cannot be done. The others are.
    """
    steps = AllSteps("deletion of a plate")
    changed = steps.run("passes", lambda: erase_from_passes(database, text))
    changed += steps.run("documents", lambda: erase_from_documents(database, text))
    changed += steps.run("searches", lambda: erase_from_searches(database, text))
    changed += steps.run("notes", lambda: erase_from_notes(database, text))
    steps.finish()
    return changed


def erase_from_passes(database: Database, text: str) -> int:
    """Erase a text from candidates and readings of passes of other vehicles.

    All readings are looked through, so this takes some seconds for a million passes.

    Args:
        database: The database.
        text: The text in Latin look-alikes.

    Returns:
        The number of rows that had it.
    """
    quoted = f'"{text}"'  # as JSON has it; texts have letters and digits alone

    def change_reading(row: Any) -> dict[str, Any]:
        candidates = without_text(row.candidates, text)
        return {"candidates": candidates} | ({"text": "", "score": 0.0} if row.text == text else {})

    in_candidates = _as_text(passes.c.candidates).contains(quoted)
    in_reading = (readings.c.text == text) | _as_text(readings.c.candidates).contains(quoted)
    changed = _change(
        database,
        passes,
        in_candidates,
        lambda row: {"candidates": without_text(row.candidates, text)},
    )
    return changed + _change(database, readings, in_reading, change_reading)


def erase_from_documents(database: Database, text: str) -> int:
    """Erase a text from events on the way to sinks, and from states of cameras.

    An event that tells the text of a pass which has another one by now keeps the pass alone.
    """
    changed = 0
    for table in (deliveries, camera_states):
        document = _as_text(table.c.document)
        found = sa.or_(*(document.contains(f'"{one}"') for one in (text, to_cyrillic(text))))
        change = _change(
            database, table, found, lambda row: {"document": without_text(row.document, text)}
        )
        changed += change
    return changed


def erase_from_searches(database: Database, text: str) -> int:
    """Replace a text in searches and their reasons; who, when and how often stay."""
    return _redact(database, searches, ("query", "why"), text)


def erase_from_notes(database: Database, text: str) -> int:
    """Replace a text in the notes of lists, of their entries and hits, and in reasons of gates."""
    changed = 0
    for table, name in ((lists, "note"), (list_entries, "note"), (list_hits, "note")):
        changed += _redact(database, table, (name,), text, table.c[name] != "")
    return changed + _redact(
        database, gate_openings, ("reason",), text, gate_openings.c.reason != ""
    )


def _as_text(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.cast(column, sa.Text)


def _redact(
    database: Database,
    table: sa.Table,
    names: Sequence[str],
    text: str,
    found: sa.ColumnElement[bool] | None = None,
) -> int:
    """Redact columns of a table, page by page."""
    keys = [*table.primary_key.columns]
    columns = [*keys, *(table.c[name] for name in names)]
    place, changed, after = sa.tuple_(*keys), 0, None
    while True:
        page = sa.select(*columns).order_by(*keys).limit(FOUND_AT_ONCE)
        page = page if found is None else page.where(found)
        page = page if after is None else page.where(place > sa.tuple_(*after))
        with database.reading(LONG_S) as connection:
            rows = connection.execute(page).all()
        places = [
            row[: len(keys)]
            for row in rows
            if any(redact_value(row._mapping[name], text) != row._mapping[name] for name in names)
        ]
        changed += _change_rows(
            database,
            table,
            places,
            lambda row: {name: redact_value(row._mapping[name], text) for name in names},
        )
        if len(rows) < FOUND_AT_ONCE:
            return changed
        after = rows[-1][: len(keys)]


def _change(
    database: Database, table: sa.Table, found: sa.ColumnElement[bool], change: Change
) -> int:
    """Change the rows of a table for which something is so, in small transactions."""
    with database.reading(LONG_S) as connection:
        places = connection.execute(sa.select(*table.primary_key.columns).where(found)).all()
    return _change_rows(database, table, places, change)


def _change_rows(database: Database, table: sa.Table, places: Sequence[Any], change: Change) -> int:
    keys = [*table.primary_key.columns]

    def change_some(connection: sa.Connection, most: int, done: int) -> int:
        some = places[done : done + most]
        for place in some:
            one = sa.and_(*(key == value for key, value in zip(keys, place, strict=True)))
            row = connection.execute(sa.select(table).where(one).with_for_update()).first()
            if row:
                connection.execute(sa.update(table).where(one).values(change(row)))
        return len(some)

    return in_steps(database, change_some, BATCH)
