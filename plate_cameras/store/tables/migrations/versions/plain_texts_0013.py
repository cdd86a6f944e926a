"""Entries of lists whose texts have the country (A123BC77RUS) get those of plates.

No plate was read so, and no search or removal by text found them.
"""

import secrets

import sqlalchemy as sa
from alembic import op

from plate_cameras.plate_texts import strip_text

revision = "0013"
down_revision = "0012"

ENTRY = sa.table("list_entries", *map(sa.column, ("list_id", "edition", "text")))
LIST = sa.table("lists", *map(sa.column, ("id", "edition", "entries", "revision")))


def upgrade() -> None:
    """Give each entry the text of a plate. An entry of the list that has it already stays."""
    connection = op.get_bind()
    rows = connection.execute(sa.select(*ENTRY.c)).all()
    entries = {tuple(row) for row in rows}
    changed_lists = set()
    for list_id, edition, text in rows:
        plain = strip_text(text)
        if plain == text:
            continue
        entry = (ENTRY.c.list_id == list_id, ENTRY.c.edition == edition, ENTRY.c.text == text)
        if not plain or (list_id, edition, plain) in entries:
            connection.execute(sa.delete(ENTRY).where(*entry))
        else:
            connection.execute(sa.update(ENTRY).where(*entry).values(text=plain))
            entries.add((list_id, edition, plain))
        changed_lists.add(list_id)
    for list_id in changed_lists:
        _count_again(connection, list_id)


def _count_again(connection: sa.Connection, list_id: int) -> None:
    in_place = sa.select(LIST.c.edition).where(LIST.c.id == list_id).scalar_subquery()
    count = sa.select(sa.func.count()).select_from(ENTRY)
    count = count.where(ENTRY.c.list_id == list_id, ENTRY.c.edition == in_place)
    values = {"entries": count.scalar_subquery(), "revision": secrets.randbits(53)}
    connection.execute(sa.update(LIST).where(LIST.c.id == list_id).values(values))
