"""Erases a plate's text from data of other vehicles.

These are readings and candidates of other vehicles' passes, their events on the way to sinks,
states of cameras, notes, and earlier searches. The rows stay; the text goes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import sqlalchemy as sa

from orchestrator.formats.transliteration import to_cyrillic, to_latin
from orchestrator.plates import CYRILLIC, LATIN
from plate_cameras.store.erasing.retention import in_steps
from plate_cameras.store.errors import StoreError
from plate_cameras.store.tables.database import LONG_S, Database
from plate_cameras.store.tables.schema import (
    camera_states,
    deliveries,
    gate_openings,
    list_entries,
    list_hits,
    lists,
    passes,
    pushed_pictures,
    readings,
    searches,
)

LOG = logging.getLogger(__name__)


class AllSteps:
    """Runs the steps of a job, and raises the first error at its end."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._errors: list[Exception] = []

    def run(self, name: str, step: Callable[[], int | None]) -> int:
        """Run a step. Return what it has counted; 0 after an error, which is logged."""
        try:
            return step() or 0
        except Exception as error:  # whatever it is, the other steps may succeed
            trace = None if isinstance(error, StoreError) else error
            LOG.error("%s: %s: %s", self._job, name, error, exc_info=trace)
            self._errors.append(error)
            return 0

    def finish(self) -> None:
        """End the job.

        Raises:
            Exception: A step has failed; the first error, mostly of the store.
        """
        if self._errors:
            raise self._errors[0]


BATCH = 200
FOUND_AT_ONCE = 10_000
"""Rows that are looked for, and then changed in small transactions."""
Change = Callable[[Any], dict[str, Any]]


def erase_traces(database: Database, text: str) -> None:
    """Erase a text from everything that stays.

    Raises:
        StoreError: A part cannot be done. The others are.
    """
    steps = AllSteps("deletion of a plate")
    steps.run("passes", lambda: erase_from_passes(database, text))
    steps.run("documents", lambda: erase_from_documents(database, text))
    steps.run("searches", lambda: erase_from_searches(database, text))
    steps.run("sent pictures", lambda: erase_from_sent(database, text))
    steps.run("notes", lambda: erase_from_notes(database, text))
    steps.finish()


def erase_from_passes(database: Database, text: str) -> None:
    """Erase a text from candidates and readings of passes of other vehicles.

    All readings are looked through, so this takes some seconds for a million passes.

    Args:
        database: The database.
        text: The text in Latin look-alikes.
    """
    quoted_text = f'"{text}"'  # as JSON has it; texts have letters and digits alone

    def change_pass(row: Any) -> dict[str, Any]:
        candidates = row.candidates if isinstance(row.candidates, list) else []
        return {"candidates": remove_text(candidates, text)}

    def change_reading(row: Any) -> dict[str, Any]:
        return change_pass(row) | ({"text": "", "score": 0.0} if row.text == text else {})

    in_reading = (readings.c.text == text) | _as_text(readings.c.candidates).contains(quoted_text)
    _change(database, passes, _as_text(passes.c.candidates).contains(quoted_text), change_pass)
    _change(database, readings, in_reading, change_reading)


def erase_from_documents(database: Database, text: str) -> None:
    """Erase a text from events on the way to sinks, and from states of cameras, notes included.

    If the pass of an event has another text now, only the pass stays in the event.
    """

    def erase(document: Any) -> Any:
        return redact_value(remove_text(document, text), text)

    for table in (deliveries, camera_states):
        _redact(database, table, ("document",), sa.true(), erase)


def erase_from_sent(database: Database, text: str) -> None:
    """Delete pictures that cameras have sent with this text, and that nobody has read yet."""
    with database.writing(LONG_S) as connection:
        connection.execute(sa.delete(pushed_pictures).where(pushed_pictures.c.text == text))


def erase_from_searches(database: Database, text: str) -> None:
    """Replace a text in searches and their reasons; who, when and how often stay."""
    _redact(database, searches, ("query", "why"), sa.true(), partial(redact_value, text=text))


def erase_from_notes(database: Database, text: str) -> None:
    """Replace a text in notes of lists, entries and hits, and in reasons."""
    notes = (lists, "note"), (list_entries, "note"), (list_hits, "note")
    for table, name in (*notes, (gate_openings, "reason"), (gate_openings, "remark")):
        _redact(database, table, (name,), table.c[name] != "", partial(redact, text=text))


def _as_text(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.cast(column, sa.Text)


def _redact(
    database: Database,
    table: sa.Table,
    names: Sequence[str],
    condition: sa.ColumnElement[bool],
    erase: Callable[[Any], Any],
) -> None:
    """Change columns of the rows of a table that meet a condition, page by page."""

    def change(row: Any) -> dict[str, Any]:
        return {name: erase(row._mapping[name]) for name in names}

    keys = [*table.primary_key.columns]
    columns = [*keys, *(table.c[name] for name in names)]
    page = sa.select(*columns).where(condition).order_by(*keys).limit(FOUND_AT_ONCE)
    rows = _read(database, page)
    while rows:
        changed_rows = [
            row for row in rows if change(row) != {name: row._mapping[name] for name in names}
        ]
        _change_rows(database, table, [row[: len(keys)] for row in changed_rows], change)
        last = rows[-1][: len(keys)]
        rows = _read(database, page.where(sa.tuple_(*keys) > sa.tuple_(*last)))


def _change(
    database: Database, table: sa.Table, condition: sa.ColumnElement[bool], change: Change
) -> None:
    """Change the rows of a table that meet a condition, in small transactions."""
    keys = _read(database, sa.select(*table.primary_key.columns).where(condition))
    _change_rows(database, table, keys, change)


def _read(database: Database, statement: sa.Select[Any]) -> Sequence[Any]:
    with database.reading(LONG_S) as connection:
        return connection.execute(statement).all()


def _change_rows(
    database: Database, table: sa.Table, places: Sequence[Any], change: Change
) -> None:
    keys = [*table.primary_key.columns]

    def change_some(connection: sa.Connection, most: int, done: int) -> int:
        batch = places[done : done + most]
        for place in batch:
            is_row = sa.and_(*(key == value for key, value in zip(keys, place, strict=True)))
            row = connection.execute(sa.select(table).where(is_row).with_for_update()).first()
            if row:
                connection.execute(sa.update(table).where(is_row).values(change(row)))
        return len(batch)

    in_steps(database, change_some, BATCH)


DELETED = "deleted"
"""Stands for the text of a plate that was deleted."""
SEPARATORS = r"[\W_]{0,3}"
"""The signs that people write between the characters of a plate."""
SHOWN = {"text": "", "text_native": "", "text_score": 0.0, "last_text": ""}
"""Fields of a document that tell a plate, with their values for a document without one."""
RESPELLED = dict(zip(LATIN, CYRILLIC, strict=True))


def remove_text(value: Any, text: str) -> Any:
    """Return a JSON value without the parts that are about a text.

    Removed list items are the text, a pair that begins with it, or an object whose `text` it is. An
    object outside a list keeps its other fields.

    Args:
        value: The value.
        text: The text in Latin look-alikes. It is also found in Cyrillic letters.
    """
    spellings = text, to_cyrillic(text)
    if isinstance(value, list):
        return [remove_text(item, text) for item in value if not _is_about(item, spellings)]
    if isinstance(value, dict):
        is_it = any(value.get(name) in spellings for name in ("text", "text_native", "last_text"))
        cleared_fields = {name: empty for name, empty in SHOWN.items() if is_it and name in value}
        return {name: remove_text(item, text) for name, item in value.items()} | cleared_fields
    return value


def redact(words: str, text: str) -> str:
    """Return words in which a plate's text is replaced, however it is written.

    Its letters may be Latin or Cyrillic, small or large, with spaces or hyphens between them.
    """
    return _make_pattern(text).sub(DELETED, words)


def redact_value(value: Any, text: str) -> Any:
    """Return a JSON value in whose strings a plate's text is replaced, as `redact` does."""
    if isinstance(value, str):
        return redact(value, text)
    if isinstance(value, list):
        return [redact_value(item, text) for item in value]
    if isinstance(value, dict):
        return {redact(name, text): redact_value(item, text) for name, item in value.items()}
    return value


@lru_cache(maxsize=8)
def _make_pattern(text: str) -> re.Pattern[str]:
    if not text:
        return re.compile(r"(?!)")
    spellings = ("".join({letter, RESPELLED.get(letter, letter)}) for letter in to_latin(text))
    pattern = SEPARATORS.join(f"[{re.escape(letters)}]" for letters in spellings)
    return re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)


def _is_about(item: Any, spellings: tuple[str, str]) -> bool:
    if isinstance(item, dict):
        return item.get("text") in spellings
    return item in spellings or (isinstance(item, list) and bool(item) and item[0] in spellings)
