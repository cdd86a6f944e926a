"""Erases a plate's text where it stands beside other data that stay.

These are readings and candidates of other vehicles' passes, their events on the way to sinks, and
earlier searches. The rows stay; the text goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store.database import Database
from orchestrator.cameras.store.retention import BATCH
from orchestrator.cameras.store.schema import (
    deliveries,
    passes,
    readings,
    searches,
)
from orchestrator.formats.transliteration import to_latin

DELETED = "deleted"
"""Stands in the audit for the text of a plate that was deleted."""
WORD = re.compile(r"\w+")
Change = Callable[[Any], dict[str, Any]]


def erase_traces(database: Database, text: str) -> int:
    """Erase a text from readings, candidates, events and the audit.

    All readings are looked through, so this takes some seconds for a million passes.

    Args:
        database: The database.
        text: The text in Latin look-alikes.

    Returns:
        The number of rows that had it.
    """
    quoted = f'"{text}"'  # as JSON has it; texts have letters and digits alone
    in_candidates = _as_text(passes.c.candidates).contains(quoted)
    in_reading = (readings.c.text == text) | _as_text(readings.c.candidates).contains(quoted)
    in_document = _as_text(deliveries.c.document).contains(quoted)

    def change_reading(row: Any) -> dict[str, Any]:
        is_it = row.text == text
        candidates = without_text(row.candidates, text)
        return {"candidates": candidates, **({"text": "", "score": 0.0} if is_it else {})}

    changed = _change(
        database,
        passes.c.candidates,
        in_candidates,
        lambda row: {"candidates": without_text(row.candidates, text)},
    )
    changed += _change(database, readings.c.candidates, in_reading, change_reading)
    changed += _change(
        database,
        deliveries.c.document,
        in_document,
        lambda row: {"document": without_text(row.document, text)},
    )
    return changed + _redact_searches(database, text)


def without_text(value: Any, text: str) -> Any:
    """Return a JSON value without the list items that are about a text.

    Such an item is the text, a pair that begins with it, or an object whose `text` it is.
    """
    if isinstance(value, list):
        return [without_text(one, text) for one in value if not _is_about(one, text)]
    if isinstance(value, dict):
        return {name: without_text(one, text) for name, one in value.items()}
    return value


def redact(words: str, text: str) -> str:
    """Return words in which a plate's text is replaced, however its letters are written."""
    joined = "".join(words.split())
    if to_latin(joined) == text:
        return DELETED
    return WORD.sub(lambda word: DELETED if to_latin(word[0]) == text else word[0], words)


def _is_about(item: Any, text: str) -> bool:
    if isinstance(item, dict):
        return item.get("text") == text
    return item == text or (isinstance(item, list) and item[:1] == [text])


def _as_text(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.cast(column, sa.Text)


def _change(
    database: Database, column: sa.Column[Any], found: sa.ColumnElement[bool], change: Change
) -> int:
    """Change the rows of a column's table for which something is so, in small transactions."""
    table: sa.Table = column.table
    keys = [*table.primary_key.columns]
    with database.reading() as connection:
        places = connection.execute(sa.select(*keys).where(found)).all()
    for start in range(0, len(places), BATCH):
        _change_batch(database, table, places[start : start + BATCH], change)
    return len(places)


def _change_batch(
    database: Database, table: sa.Table, places: Sequence[Any], change: Change
) -> None:
    keys = [*table.primary_key.columns]
    with database.writing() as connection:
        for place in places:
            one = sa.and_(*(key == value for key, value in zip(keys, place, strict=True)))
            row = connection.execute(sa.select(table).where(one).with_for_update()).first()
            if row:
                connection.execute(sa.update(table).where(one).values(change(row)))


def _redact_searches(database: Database, text: str) -> int:
    """Replace the text in searches and their reasons; who, when and how often stay."""

    def change(value: Any) -> Any:
        if isinstance(value, str):
            return redact(value, text)
        return [change(one) for one in value] if isinstance(value, list) else value

    changed = 0
    with database.writing() as connection:
        for row in connection.execute(sa.select(searches)).all():
            query = {name: change(value) for name, value in row.query.items()}
            why = redact(row.why, text)
            if (query, why) != (row.query, row.why):
                update = sa.update(searches).where(searches.c.number == row.number)
                connection.execute(update.values(query=query, why=why))
                changed += 1
    return changed
