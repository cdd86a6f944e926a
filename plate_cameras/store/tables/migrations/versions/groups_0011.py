"""The groups of those who made a list, and of those whom the audit names."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    for table in ("lists", "searches"):
        op.add_column(table, sa.Column("groups", sa.JSON()))
