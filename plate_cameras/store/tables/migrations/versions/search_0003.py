"""The texts of passes with a trigram index, for searches by parts and edits."""

from alembic import op

revision = "0003"
down_revision = "0002"

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
    """INSERT INTO pass_texts (rowid, text)
         SELECT number, '^' || text || '$' FROM passes WHERE text <> ''""",
)
POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE EXTENSION IF NOT EXISTS fuzzystrmatch",
    """CREATE TABLE pass_texts (
         number BIGINT PRIMARY KEY REFERENCES passes (number) ON DELETE CASCADE,
         text VARCHAR COLLATE "C" NOT NULL
       )""",
    "INSERT INTO pass_texts SELECT number, text FROM passes WHERE text <> ''",
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
)


def upgrade() -> None:
    statements = SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL
    for statement in statements:
        op.execute(statement)
