"""Indexes for searches by one or two characters in the middle of a text."""

from alembic import op

revision = "0008"
down_revision = "0007"

SQLITE = ("CREATE VIRTUAL TABLE pass_texts_grams USING fts5vocab(pass_texts, instance)",)
POSTGRESQL = (
    """CREATE FUNCTION short_runs(text VARCHAR) RETURNS VARCHAR[]
       LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
         SELECT coalesce(array_agg(DISTINCT substr(text, start, length)), '{}')
         FROM generate_series(1, char_length(text)) AS start, generate_series(1, 2) AS length
       $$""",
    "CREATE INDEX ix_pass_texts_short_runs ON pass_texts USING gin (short_runs(text))",
)


def upgrade() -> None:
    statements = SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL
    for statement in statements:
        op.execute(statement)
