"""The index of the texts of passes, for searches by parts and edits. Triggers fill it."""

from __future__ import annotations

import sqlalchemy as sa

SQLITE = (
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
POSTGRESQL = (
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
    statements = SQLITE if connection.dialect.name == "sqlite" else POSTGRESQL
    for statement in statements:
        connection.exec_driver_sql(statement)
