"""The index of the texts of passes: triggers fill it, and statements find texts by their pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from plate_cameras.store.finding.edit_pieces import EditPieces
from plate_cameras.store.finding.text_patterns import END, GRAM, HIGHEST
from plate_cameras.store.tables.columns import NUMBER
from plate_cameras.store.tables.database import is_postgresql

SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE pass_texts USING fts5(text, tokenize = 'trigram case_sensitive 1')",
    """CREATE TRIGGER pass_texts_insert AFTER INSERT ON passes WHEN new.text <> '' BEGIN
         INSERT INTO pass_texts (rowid, text) VALUES (new.number, '^' || new.text || '$');
       END""",
    """CREATE TRIGGER pass_texts_update AFTER UPDATE OF text ON passes WHEN old.text <> new.text
       BEGIN
         DELETE FROM pass_texts WHERE rowid = old.number;
         INSERT INTO pass_texts (rowid, text)
           SELECT new.number, '^' || new.text || '$' WHERE new.text <> '';
       END""",
    """CREATE TRIGGER pass_texts_delete AFTER DELETE ON passes WHEN old.text <> '' BEGIN
         DELETE FROM pass_texts WHERE rowid = old.number;
       END""",
    "CREATE VIRTUAL TABLE pass_texts_grams USING fts5vocab(pass_texts, instance)",
)
POSTGRESQL_INDEX = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE EXTENSION IF NOT EXISTS fuzzystrmatch",
    """CREATE TABLE pass_texts (
         number BIGINT PRIMARY KEY REFERENCES passes (number) ON DELETE CASCADE,
         text VARCHAR COLLATE "C" NOT NULL
       )""",
    "CREATE INDEX ix_pass_texts_text ON pass_texts USING gin (text gin_trgm_ops)",
    """CREATE FUNCTION keep_pass_text() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         DELETE FROM pass_texts WHERE number = new.number;
         IF new.text <> '' THEN
           INSERT INTO pass_texts VALUES (new.number, new.text);
         END IF;
         RETURN NULL;
       END $$""",
    """CREATE TRIGGER pass_texts_insert AFTER INSERT ON passes
         FOR EACH ROW WHEN (new.text <> '') EXECUTE FUNCTION keep_pass_text()""",
    """CREATE TRIGGER pass_texts_update AFTER UPDATE OF text ON passes
         FOR EACH ROW WHEN (old.text <> new.text) EXECUTE FUNCTION keep_pass_text()""",
    """CREATE FUNCTION short_runs(text VARCHAR) RETURNS VARCHAR[]
       LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
         SELECT coalesce(array_agg(DISTINCT substr(text, start, length)), '{}')
         FROM generate_series(1, char_length(text)) AS start, generate_series(1, 2) AS length
       $$""",
    "CREATE INDEX ix_pass_texts_short_runs ON pass_texts USING gin (short_runs(text))",
)
"""The last two find texts with one or two characters in their middle."""


def create_text_index(connection: sa.Connection) -> None:
    """Make the index beside the tables."""
    for statement in POSTGRESQL_INDEX if is_postgresql(connection) else SQLITE_INDEX:
        connection.exec_driver_sql(statement)


pass_texts = sa.table("pass_texts", sa.column("number", NUMBER), sa.column("text", sa.String))
"""The texts of passes, for parts and edits. Triggers keep it up to date. In PostgreSQL it is a
narrow table with a trigram index. In SQLite it is a trigram index by itself, whose texts stand
between `^` and `$`, and `number` is its `rowid`."""

pass_text_grams = sa.table(
    "pass_texts_grams", sa.column("term", sa.String), sa.column("doc", NUMBER)
)
"""The trigrams of the texts in SQLite, in their order; `doc` is the number of a pass."""
NOWHERE = END * GRAM
"""A trigram that no text has."""


def find_in_sqlite(run: str) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """Return the statement that finds texts with one or two characters by their trigrams.

    A trigram begins with them, or ends with one that is the last of its text.
    """
    term = pass_text_grams.c.term
    begins = sa.and_(term >= run, term < run + HIGHEST)
    statement = sa.select(pass_text_grams.c.doc)
    if len(run) > 1:
        return statement.where(begins).distinct()
    firsts = _first_characters()
    last = statement.join(firsts, term == firsts.c.char + run + END)
    return sa.union(statement.where(begins), last)


def _first_characters() -> sa.CTE:
    """Return the first characters of all trigrams; each is one step in the index."""
    term = pass_text_grams.c.term
    first = sa.select(sa.func.substr(term, 1, 1)).order_by(term).limit(1)
    chars = sa.select(first.scalar_subquery().label("char")).cte("firsts", recursive=True)
    following = first.where(term >= chars.c.char + HIGHEST).scalar_subquery()
    return chars.union_all(sa.select(following).where(chars.c.char.is_not(None)))


def find_in_postgresql(run: str) -> sa.Select[Any]:
    """Return the statement that finds texts with one or two characters by an index of them."""
    short_runs = sa.func.short_runs(pass_texts.c.text, type_=ARRAY(sa.String))
    return sa.select(pass_texts.c.number).where(short_runs.contains([run]))


def match_all(runs: Sequence[str]) -> sa.ColumnElement[str]:
    """Return the condition of SQLite's FTS5 that a text has all runs."""
    return sa.literal(" AND ".join(map(_quote, runs)))


def match_pieces(pieces: EditPieces) -> sa.ColumnElement[str]:
    """Return the condition of SQLite's FTS5 that a text is perhaps similar."""
    if pieces.frequent is None or not pieces.companions:
        return sa.literal(_any(pieces.pieces))
    runs = [companion for companion in pieces.companions if len(companion) >= GRAM]
    terms: list[sa.ColumnElement[str]] = [sa.literal(_any(runs))] if runs else []
    terms += [
        _any_that_begins(companion) for companion in pieces.companions if len(companion) < GRAM
    ]
    condition = sa.literal(f"{_quote(pieces.pieces[pieces.frequent])} AND (") + terms[0]
    for term in terms[1:]:
        condition = condition + " OR " + term
    other_pieces = [piece for at, piece in enumerate(pieces.pieces) if at != pieces.frequent]
    return sa.literal(f"{_any(other_pieces)} OR (") + condition + "))"


def _any_that_begins(run: str) -> sa.ColumnElement[str]:
    """Return a condition of FTS5: any of the trigrams that begin with two characters."""
    term = pass_text_grams.c.term
    first = sa.select(term).where(term >= run, term < run + HIGHEST).order_by(term).limit(1)
    terms = sa.select(first.scalar_subquery().label("term")).cte(recursive=True)
    following = first.where(term >= terms.c.term + HIGHEST).scalar_subquery()
    terms = terms.union_all(sa.select(following).where(terms.c.term.is_not(None)))
    condition = sa.func.group_concat(sa.literal('"') + terms.c.term + '"', " OR ")
    statement = sa.func.coalesce(condition, _quote(NOWHERE), type_=sa.String)
    return sa.select(statement).where(terms.c.term.is_not(None)).scalar_subquery()


def _any(runs: Iterable[str]) -> str:
    return " OR ".join(map(_quote, runs))


def _quote(run: str) -> str:
    return f'"{run}"'
